"""The audit report of findings that were computed: pages, charts, digests, what to collect."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from pypdf import PdfReader

from engagements.audit import overrides, subjects
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.audit.rules import CHECKS, Needs, Operator, Work
from engagements.common.money import format_money
from engagements.evidence import answer_text, questionnaire
from engagements.evidence.models import Evidence
from engagements.people.models import Role
from tests.engagements import evidence_world
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, elements, words
from tests.engagements.world import person

Issue = Callable[[str, str], PdfReader]
QUESTIONS = [check.question for check in CHECKS]
LONG = "x" * 190 + ".json.gz"


def started(story: Story) -> Audit:
    return audits.start(
        engagement=story.engagement, cost=story.amount("6000"), currency="EUR", by=story.ada
    )


def delivered(story: Story, audit: Audit) -> Audit:
    """Whatever nothing tells is answered with unknown."""
    for finding in audit.findings.filter(found_at__isnull=True):
        audits.record_finding(
            audit=audit,
            check=finding.check_name,
            outcome="unknown",
            value="",
            rationale="",
            by=story.ada,
        )
    return audits.deliver(audit=audit, by=story.ada)


@pytest.fixture
def audit(story: Story) -> Audit:
    """Computed from a decode step, a log of shapes, two answers and an estimate of the work."""
    audit = started(story)
    content = (evidence_world.CAPTURES / evidence_world.DECODE).read_bytes()
    evidence_world.added(story.engagement, story.ada, LONG, content)
    evidence_world.added(story.engagement, story.ada, "calls.csv", evidence_world.TRAFFIC)
    evidence_world.added(story.engagement, story.ada, "half.json.gz", content[:5000])
    people = {"people": [{"name": "Performance team", "hours_a_month": 12}]}
    models = {"models": [{"name": "Llama 5", "expected_on": "2029-03-01", "axes": {}}]}
    for question, value in (("maintainers", people), ("roadmap", models)):
        questionnaire.record(
            engagement=story.engagement,
            question=question,
            value=value,
            answered_by="Dr. Samira Ostermann-Kowalczyk",
            answered_on=dt.date(2026, 1, 31),
            by=story.ada,
        )
    subjects.choose_operator(
        audit=audit, operator=Operator(kind="family", name="attention"), by=story.ada
    )
    subjects.set_needs(
        audit=audit, needs=Needs(definition="flash_attention", dtype="bfloat16"), by=story.ada
    )
    work = Work(weeks=6, fee=Decimal("48000"), currency="EUR")
    subjects.set_work(audit=audit, work=work, by=story.ada)
    subjects.set_thresholds(audit=audit, changes={"target": 1.5}, by=story.ada)
    return audit


def test_the_report_of_a_computed_audit(story: Story, audit: Audit, issued: Issue) -> None:
    # One report, looked at page by page: typesetting takes seconds.
    finding = overrides.propose(
        finding=audit.findings.get(check_name="off_the_shelf"),
        outcome="pass",
        reason="Its licence does not allow it.",
        by=story.ada,
    )
    overrides.confirm(finding=finding, by=person("Grace", Role.CONSULTANT))
    delivered(story, audit)
    evidence_world.add(
        story.engagement, story.ada, "later.csv", evidence_world.TRAFFIC + b"1,1,1,1\n"
    )
    report = issued("audit_report", f"audit:{audit.pk}")
    pages = [" ".join(page.extract_text().split()) for page in report.pages]

    one_page_to_decide_by_then_one_for_each_check_then_the_evidence(pages)
    a_check_says_its_value_its_line_and_what_it_was_computed_from(pages[1])
    an_override_stands_beside_the_computed_outcome(pages)
    an_unknown_says_what_to_collect_by_which_command(pages[6])
    the_evidence_stands_with_digests_answers_and_the_lines_that_were_moved(pages[8])
    everything_travels_inside_as_data(report)
    every_picture_is_told_in_words(report)


def one_page_to_decide_by_then_one_for_each_check_then_the_evidence(pages: list[str]) -> None:
    assert all(question.split()[-1] in pages[0] for question in QUESTIONS)
    for number, question in enumerate(QUESTIONS, start=1):
        assert f"Check {number} of {len(CHECKS)} {question}" in pages[number]
    assert len(pages) == 9
    assert not any("2026-01-31" in page for page in pages), "days are written in words"


def a_check_says_its_value_its_line_and_what_it_was_computed_from(page: str) -> None:
    assert "73.7%" in page
    assert "at least 5% of the wall-clock time" in page
    assert "Attention takes 73.7% of your time" in page
    assert Evidence.objects.get(name=LONG).digest in page


def an_override_stands_beside_the_computed_outcome(pages: list[str]) -> None:
    assert "Overridden to pass by Ada Lindqvist, confirmed by Grace: Its licence" in pages[2]
    assert "found: fail" in pages[0]


def an_unknown_says_what_to_collect_by_which_command(page: str) -> None:
    assert "ncu --set full" in page


def the_evidence_stands_with_digests_answers_and_the_lines_that_were_moved(page: str) -> None:
    for row in Evidence.objects.exclude(name="later.csv"):
        assert row.digest in page.replace(" ", "")
    assert "later.csv" not in page, "it came after delivery"
    assert "Performance team, 12 hours a month" in page
    assert "Llama 5, 1 Mar 2029" in page
    assert "Dr. Samira Ostermann" in page
    assert "Target 2 1.5" in page


def test_an_answered_amount_has_its_currency() -> None:
    said = list(answer_text.answer_lines({"amount_a_month": "90000", "currency": "EUR"}))
    assert said == [f"Amount a month: {format_money(Decimal(90000), 'EUR')}"]


def everything_travels_inside_as_data(report: PdfReader) -> None:
    data = json.loads(attached(report)["audit.json"])
    assert data["thresholds"] == {"target": 1.5}
    assert {each["name"] for each in data["evidence"]} == {LONG, "calls.csv", "half.json.gz"}
    found = {each["check"]: each for each in data["findings"]}
    assert found["hot"]["computed"]["figures"]["operator"] == "attention"
    assert found["off_the_shelf"]["computed"]["outcome"] == "fail"
    assert found["off_the_shelf"]["override"]["outcome"] == "pass"


def every_picture_is_told_in_words(report: PdfReader) -> None:
    pictures = [each for each in elements(report) if each["/S"] == "/Figure"]
    assert len(pictures) >= 5
    assert all(str(each["/Alt"]) for each in pictures)


def test_an_audit_without_evidence_lists_the_missing_evidence(story: Story, issued: Issue) -> None:
    audit = started(story)
    subjects.set_thresholds(audit=audit, changes={}, by=story.ada)
    delivered(story, audit)
    report = issued("audit_report", f"audit:{audit.pk}")
    text = words(report)
    assert "We decline custom kernel work" in text
    assert "0 of 6 checks pass, 6 are unknown" in text
    assert "cannot be decided yet" in text
    assert text.count("ncu --set full") + text.count("nsys profile") >= 2
    # What says no more than that it is unknown shares its page.
    assert len(report.pages) == 7
