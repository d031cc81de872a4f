"""Every row of the table of outcomes has its words in the portal and in the report."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from engagements.documents.registry import Subject
from engagements.documents.render import markup
from engagements.runs import attempts
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import FAILED, Situation, outcome_of
from engagements.runs.report.context import compose
from tests.engagements import story as stories
from tests.engagements.runs.test_outcomes import ROWS, situation

pytestmark = pytest.mark.django_db


def distinct() -> list[Situation]:
    """One situation for each wording of the table; a failed run has no report."""
    found: dict[tuple[str, str], Situation] = {}
    for verdict, day, left, is_paused, has_offer, is_disputed in ROWS:
        row = situation(
            verdict, day, left, is_paused=is_paused, has_offer=has_offer, is_disputed=is_disputed
        )
        if row.verdict != FAILED:
            outcome = outcome_of(row)
            found.setdefault((outcome.headline, outcome.text), row)
    return list(found.values())


@pytest.mark.parametrize(
    "step", [pytest.param(12, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)]
)
def test_the_portal_and_the_report_say_what_every_row_does(
    client: Client, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    story = stories.active(stories.offered(stories.audited(stories.opened()), attempts=3))
    run = EngagementRun.objects.get(pk=stories.measured(story, 1.1).pk)
    client.force_login(story.viewer)
    page = reverse("portal-run", args=[story.reference, run.pk])
    rows = distinct()
    assert len(rows) > 40
    for row in rows[::step]:
        monkeypatch.setattr(attempts, "situation_of", lambda _, row=row: replace(row))
        outcome = outcome_of(row)
        shown = unescape(client.get(page).content.decode())
        printed = unescape(markup(compose(Subject("run", run.pk))))
        for text in (shown, printed):
            assert outcome.headline in text, row
            assert outcome.text in text, row
