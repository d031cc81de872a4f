"""Lists ask as many queries of many engagements as of few, and show no more rows than a page.

The p95 of each page's times is printed by

    TWOFOLD_PROOF_ENGAGEMENTS=100,10000 pytest tests/engagements/proofs/test_growth.py -s
"""

from __future__ import annotations

import os
import time

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


def p95_ms(client: Client, name: str) -> float:
    """The 19th of 20 requests by time, in milliseconds."""
    times = []
    for _ in range(20):
        began = time.perf_counter()
        client.get(reverse(name))
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[18]


def test_no_list_asks_more_of_many_engagements_than_of_few(client: Client) -> None:
    active = story.underway()
    story.measured(active, 1.6, purpose="trial")
    pages = {
        "board": active.consultant,
        "finance": active.finance,
        "to-bill": active.finance,
        "invoices": active.finance,
        "settlements": active.finance,
        "money-at-risk": active.finance,
        "portal": active.viewer,
        "api-engagements-list": active.viewer,
    }

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
                print(f"{size:>7,} engagements  {name:16} p95 {p95_ms(client, name):7.1f} ms")
    few, *_, many = counts
    more = {name: (few[name][0], found[0]) for name, found in many.items()}
    assert {name: pair for name, pair in more.items() if pair[1] > pair[0]} == {}
    assert {name: found[1] for name, found in many.items() if found[1] > LARGEST_PAGE_BYTES} == {}
