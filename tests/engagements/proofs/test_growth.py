"""Lists ask as many queries of many engagements as of few, and show no more rows than a page.

The p95 of each page's times, and its processor time, are printed by

    TWOFOLD_PROOF_ENGAGEMENTS=100,10000 pytest tests/engagements/proofs/test_growth.py -s
"""

from __future__ import annotations

import os
import time

import psutil
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.engagements import story
from tests.engagements.proofs import volume

pytestmark = pytest.mark.django_db
WANTED = os.environ.get("TWOFOLD_PROOF_ENGAGEMENTS")
SIZES = [int(size) for size in (WANTED or "3,60").split(",")]
LARGEST_PAGE_BYTES = 250_000
OF_CONSULTANTS = ("board", "customers", "notifications", "api-audits-list", "api-runs-list")
OF_FINANCE = (
    *("finance", "to-bill", "invoices", "payments", "settlements", "receivables", "vat", "ledger"),
    *("money-at-risk", "api-invoices-list", "api-payments-list", "api-settlements-list"),
    "api-entries-list",
)
OF_CUSTOMERS = (
    *("portal", "api-engagements-list", "api-contracts-list", "api-milestones-list"),
    "api-documents-list",
)


REQUESTS = 20


def p95_and_processor_ms(client: Client, name: str) -> tuple[float, float]:
    """The 19th of 20 requests by time, and the processor time of one, both in milliseconds.

    The processor time is this process's and its database session's, so other load adds nothing.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        session = psutil.Process(cursor.fetchone()[0])

    def used_s() -> float:
        times = session.cpu_times()
        return float(times.user + times.system) + time.process_time()

    times, before_s = [], used_s()
    for _ in range(REQUESTS):
        began = time.perf_counter()
        client.get(reverse(name))
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[18], (used_s() - before_s) * 1000 / REQUESTS


def test_no_list_asks_more_of_many_engagements_than_of_few(client: Client) -> None:
    active = story.underway()
    story.measured(active, 1.6, purpose="trial")
    pages = dict.fromkeys(OF_CONSULTANTS, active.consultant)
    pages |= dict.fromkeys(OF_FINANCE, active.finance)
    pages |= dict.fromkeys(OF_CUSTOMERS, active.viewer)

    def queries_and_bytes(name: str) -> tuple[int, int]:
        client.force_login(pages[name])
        client.get(reverse(name))
        with CaptureQueriesContext(connection) as captured:
            page = client.get(reverse(name))
        assert page.status_code == 200, name
        return len(captured), len(page.content)

    counts, made = [], 0
    for size in SIZES:
        volume.copies(active.contract, size - made, first=made)
        made = size
        counts.append({name: queries_and_bytes(name) for name in pages})
        if WANTED:
            for name in pages:
                client.force_login(pages[name])
                p95_ms, used_ms = p95_and_processor_ms(client, name)
                print(
                    f"{size:>7,} engagements  {name:22} p95 {p95_ms:7.1f} ms,"
                    f" processor {used_ms:6.1f} ms"
                )
    few, *_, many = counts
    more = {name: (few[name][0], found[0]) for name, found in many.items()}
    assert {name: pair for name, pair in more.items() if pair[1] > pair[0]} == {}
    assert {name: found[1] for name, found in many.items() if found[1] > LARGEST_PAGE_BYTES} == {}
