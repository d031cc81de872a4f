"""The settlement statement."""

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from pypdf import PdfReader

from engagements import documents
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.documents import registry, render
from engagements.documents.registry import Subject
from engagements.payouts import refunds
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from tests.engagements.charts import measured
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, words

Issue = Callable[[str, str], PdfReader]


def test_the_statement_accounts_for_every_amount_and_every_step(
    story: Story, issued: Issue
) -> None:
    story.audited()
    contract = story.accepted(story.offered())
    story.paid_first_milestone(contract)
    asked = story.measured(measured.record(speedup=1.1))
    settlement = story.settled(contract)
    paper = issued("settlement_statement", f"settlement:{settlement.pk}")
    text = words(paper)
    assert "EUR 7,140.00 refunded" in text
    for amount in ("14,280.00", "−6,000.00", "−1,140.00"):
        assert amount in text
    assert text.count("void, not owed") == 2
    assert asked.run.record.digest in text
    assert contract.digest in text
    assert "Twofold, by itself" in text
    assert "Finnegan O’Sullivan-Brandt" in text
    assert "Greta Wójcik" in text
    assert "SEPA 2026-11-21 0000471" in text
    data = json.loads(attached(paper)["settlement.json"])
    assert data["refund"] == "7140.00"
    assert [payment["amount"] for payment in data["payments"]] == ["14280.00"]


def test_the_statement_says_until_when_it_may_be_disputed(story: Story) -> None:
    story.audited()
    contract = story.accepted(story.offered(dispute_days=10))
    story.paid_first_milestone(contract)
    story.measured(measured.record(speedup=1.1))
    settlement = story.settled(contract)
    paper = registry.kind_of("settlement_statement").compose(Subject("settlement", settlement.pk))
    html = render.markup(paper)
    assert f"may dispute this settlement until {in_words(settlement.disputable_until)}" in html
    assert "with 95% confidence" in html
    assert "both with their tax" in html
    assert settlement.refund_due_on is not None
    counts_from, due_on = settlement.refund_counts_from, settlement.refund_due_on
    assert f"gives 14 days from {in_words(counts_from)}, until {in_words(due_on)}" in html


def test_a_dispute_and_what_went_back_before_stand_on_the_statement(story: Story) -> None:
    story.audited()
    contract = story.accepted(story.offered(dispute_days=10))
    story.paid_first_milestone(contract)
    story.measured(measured.record(speedup=1.1))
    disputed = contract.settlements.get()
    disputes.raise_dispute(settlement=disputed, reason="Travel was paid too.", by=story.sam)
    disputes.resolve_open(settlement=disputed, note="It was no fee.", by=story.finn)
    first = story.settled(contract)
    further = settlements.propose(
        contract=contract, reason="further", note="Agreed.", audit_cost=Decimal(0), by=story.greta
    )
    further = settlements.approve(settlement=further, by=story.finn)
    further = refunds.mark_paid(settlement=further, reference="SEPA 2", by=story.greta)
    steps = ("Proposed", "Disputed", "Resolved", "Approved", "Paid")
    composer = registry.kind_of("settlement_statement")
    one, two = (composer.compose(Subject("settlement", row.pk)) for row in (first, further))
    assert tuple(step["what"] for step in one.context["steps"]) == steps
    assert "Travel was paid too." in render.markup(one)
    assert "less the cost of the audit, both with their tax." in render.markup(one)
    assert "It was no fee." not in render.markup(two)
    assert "under this contract, less what went back before. Transferred" in render.markup(two)


def test_a_time_box_that_ran_out_names_no_run(story: Story) -> None:
    story.audited()
    contract = story.accepted(story.offered())
    story.time_box_over(contract)
    settlement = story.settled(contract)
    paper = registry.kind_of("settlement_statement").compose(Subject("settlement", settlement.pk))
    html = render.markup(paper)
    assert "The time-box ended without a run that met the target." in html
    assert "No payment was received" in html
    assert "remain due for the audit" in html
    assert "7,140.00" in html


def test_there_is_no_statement_before_the_money_moved(story: Story) -> None:
    story.audited()
    contract = story.accepted(story.offered())
    story.measured(measured.record(speedup=1.1))
    settlement = contract.settlements.get()
    with pytest.raises(ApplicationError, match="paid"):
        documents.issue(kind="settlement_statement", subject=f"settlement:{settlement.pk}")
