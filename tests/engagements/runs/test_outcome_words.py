"""Every row of the table of outcomes has its words in the portal and in the report."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from engagements.documents import registry
from engagements.documents.registry import Subject
from engagements.documents.render import markup
from engagements.runs import attempts, estimates
from engagements.runs.explanations import explain
from engagements.runs.measured import meaning, measured_words, shown
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import FAILED, Situation, outcome_of
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
            ended = replace(row, is_terminated=True)
            outcome = outcome_of(ended)
            found.setdefault((outcome.headline, outcome.text), ended)
    return list(found.values())


def test_the_portal_and_the_report_say_what_every_row_does(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = stories.in_force(attempts=3)
    run = EngagementRun.objects.get(pk=stories.measured(story, 1.1).pk)
    summary = run.run.record.summary
    client.force_login(story.viewer)
    contexts: Any = client.get(reverse("portal-run", args=[story.reference, run.pk])).context
    context = {**contexts[0].flatten(), "pictures": []}
    report = registry.kind_of("benchmark_report").compose(Subject("run", run.pk))
    # Without its pictures and tables, which no outcome changes and which take most of the time.
    plain = {**report.context, "pictures": {}, "roofline": None}
    explained = explain(run, summary)
    assert (context["explained"], report.context["verdict"]) == (explained, explained)
    rows = distinct()
    assert len(rows) > 40
    for row in rows:
        monkeypatch.setattr(attempts, "situation_of", lambda _, row=row: replace(row))
        outcome, words = outcome_of(row), explain(run, summary)
        estimate = estimates.estimate_of(run)
        assert estimate is not None
        portal = {
            "explained": words,
            "verdict_label": words.headline,
            "measured": measured_words(estimate),
        }
        portal_text = unescape(render_to_string("runs/_portal_run.html", {**context, **portal}))
        printed = markup(replace(report, context={**plain, "verdict": words}))
        for text in (portal_text, unescape(printed)):
            assert outcome.headline in text, row
            assert outcome.text in text, row


def test_no_gain_is_claimed_where_the_interval_contains_equal_speed() -> None:
    run = stories.measured(stories.in_force(attempts=3), 1.1)
    estimate = estimates.estimate_of(EngagementRun.objects.get(pk=run.pk))
    assert estimate is not None
    clear, unclear = replace(estimate, low=1.05, high=1.2), replace(estimate, low=0.7, high=1.6)
    assert shown(clear) == meaning(estimate.ratio)
    assert shown(unclear) not in ("", meaning(estimate.ratio))
