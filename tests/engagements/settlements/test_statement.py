"""The statement of a further settlement: what went back before, and the credit notes."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from typing import Any

from pypdf import PdfReader

from engagements import documents
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements import pdf_text
from tests.engagements.world import World


def test_a_further_statement_says_what_went_back_before_and_why_more_does(world: World) -> None:
    contract = world.missed()
    row = None
    steps: tuple[dict[str, Any], ...] = (
        {},
        {"reason": "further", "note": "The audit was late.", "audit_cost": Decimal(0)},
    )
    for changes in steps:
        row = contract.settlements.exclude(state="paid").first()
        if changes:
            row = settlements.propose(contract=contract, by=world.finance, **changes)
        assert row is not None
        row = settlements.approve(settlement=row, by=world.controller)
        row = refunds.mark_paid(settlement=row, reference="REFUND", by=world.controller)
    assert row is not None
    issued = documents.issue(kind="settlement_statement", subject=f"settlement:{row.pk}")
    text = pdf_text.words(PdfReader(BytesIO(issued.content)))
    for shown in (
        "Went back before",
        "The audit was late.",
        "7,140.00 refunded",
        row.credit_notes.get().reference,
    ):
        assert shown in text, shown
