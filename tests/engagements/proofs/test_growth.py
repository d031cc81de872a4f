"""Lists ask as many queries of many engagements as of few, and show no more rows than a page."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.engagements import story
from tests.engagements.proofs import volume

pytestmark = pytest.mark.django_db
FEW, MANY = 3, 60
LARGEST_PAGE_BYTES = 250_000


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
        "api-engagements": active.viewer,
    }

    def queries_and_bytes(name: str) -> tuple[int, int]:
        client.force_login(pages[name])
        client.get(reverse(name))
        with CaptureQueriesContext(connection) as captured:
            page = client.get(reverse(name))
        assert page.status_code == 200, name
        return len(captured), len(page.content)

    counts = []
    for first, count in ((0, FEW), (FEW, MANY)):
        volume.copies(active.contract, count, first=first)
        counts.append({name: queries_and_bytes(name) for name in pages})
    few, many = counts
    more = {name: (few[name][0], found[0]) for name, found in many.items()}
    assert {name: pair for name, pair in more.items() if pair[1] > pair[0]} == {}
    assert {name: found[1] for name, found in many.items() if found[1] > LARGEST_PAGE_BYTES} == {}
