"""The settlement statement."""

import json
from collections.abc import Callable
from decimal import Decimal

from pypdf import PdfReader

from benchmarks.verdict.explanations import shown_level
from engagements import documents
from engagements.contracts import drafting
from engagements.documents import registry, render
from engagements.documents.registry import Subject
from engagements.documents.renderable import RenderableDocument
from engagements.payouts import refunds
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.charts import measured
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, words
from tests.errors import declined

Issue = Callable[[str, str], PdfReader]


def composed(settlement: Settlement) -> RenderableDocument:
    return registry.kind_of("settlement_statement").compose(Subject("settlement", settlement.pk))


def test_the_statement_has_every_amount_and_step_and_the_data(story: Story, issued: Issue) -> None:
    story.audited()
    contract = story.accepted(story.offered())
    story.paid_first_milestone(contract)
    asked = story.measured(measured.record(speedup=1.1))
    with declined("settlement_statement.not_paid"):
        documents.issue(
            kind="settlement_statement", subject=f"settlement:{contract.settlements.get().pk}"
        )
    settlement = story.settled(contract)
    paper = issued("settlement_statement", f"settlement:{settlement.pk}")
    text = words(paper)
    for amount in ("EUR 7,140.00", "14,280.00", "−6,000.00", "−1,140.00"):
        assert amount in text
    for digest in (asked.run.record.digest, contract.digest):
        assert digest in text
    for name in ("Finnegan O’Sullivan-Brandt", "Greta Wójcik", "SEPA 2026-11-21 0000471"):
        assert name in text
    data = json.loads(attached(paper)["settlement.json"])
    assert data["refund"] == "7140.00"
    assert [payment["amount"] for payment in data["payments"]] == ["14280.00"]


def test_disputes_terms_and_earlier_refunds_are_on_the_statement(story: Story) -> None:
    story.audited()
    contract = story.accepted(story.offered(dispute_days=10))
    story.paid_first_milestone(contract)
    asked = story.measured(measured.record(speedup=1.1))
    disputed = contract.settlements.get()
    disputes.raise_dispute(settlement=disputed, reason="Travel was paid too.", by=story.sam)
    disputes.resolve_open(settlement=disputed, note="It was no fee.", by=story.finn)
    first = story.settled(contract)
    further = settlements.propose(
        contract=contract, reason="further", note="Agreed.", audit_cost=Decimal(0), by=story.greta
    )
    further = settlements.approve(settlement=further, by=story.finn)
    further = refunds.mark_paid(settlement=further, reference="SEPA 2", by=story.greta)
    one, two = composed(first), composed(further)
    steps = ("Proposed", "Disputed", "Resolved", "Approved", "Paid")
    assert tuple(step["what"] for step in one.context["steps"]) == steps
    html = render.markup(one)
    for text in (
        "Travel was paid too.",
        one.context["disputable_until"],
        one.context["refund_term_starts_on"],
        one.context["refund_due_on"],
        # Of the look at which the run stopped; the sealed confidence is 95%.
        shown_level(asked.run.record.summary["looks"][-1]["confidence"]) + " confidence interval",
    ):
        assert text in html, text
    html = render.markup(two)
    assert "It was no fee." not in html
    assert two.context["refunded_before"] == "−7,140.00"
    for text in ("Agreed.", "−7,140.00", further.credit_notes.get().reference):
        assert text in html, text


def test_after_a_time_box_the_statement_has_a_balance_due_and_no_run(story: Story) -> None:
    story.audited()
    # Unbilled: the audit delivered under this contract.
    audit = drafting.MilestoneDraft("Audit", story.amount("6000"), "audit_delivered")
    kernel = drafting.MilestoneDraft("Kernel", story.amount("42000"), "target_met")
    contract = story.accepted(story.offered(milestones=[audit, kernel]))
    story.time_box_over(contract)
    paper = composed(story.settled(contract))
    assert (paper.context["run"], paper.context["is_owed"]) == (None, True)
    assert "7,140.00" in render.markup(paper)
