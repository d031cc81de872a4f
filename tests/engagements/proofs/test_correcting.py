"""No one person, and no pair outside finance, completes a correction of the books.

What could hide a theft, or lead to one: write-offs, reversals, months, suspense and credit notes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest

from engagements.billing import credit_note_drafts, reconciliation, reversals, write_offs
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.reversal_models import PaymentReversal
from engagements.billing.write_off_models import WriteOff
from engagements.ledger import periods
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.orders import services as orders
from engagements.orders.models import AuditOrder
from engagements.payouts import overpayment_refunds
from engagements.payouts.overpayment_models import OverpaymentRefund
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.proofs.test_stealing import Steps, marks, propose_write_off, thefts
from tests.engagements.world import World, closed_month, days, today, undone


@dataclass
class Correction:
    """One correction of the books, and whether it was completed."""

    ways: Steps
    is_done: Callable[[], bool]

    def steps(self) -> Steps:
        return self.ways

    def has_left(self) -> bool:
        return self.is_done()


def corrections(world: World) -> dict[str, Correction]:
    """What could hide a theft, or lead to one: each needs two people of finance."""
    invoice = world.invoice(world.active().milestones.get(position=1))
    world.paid_beyond(invoice, invoice.gross - 500, "P-1")
    line = imported(world, statement(("900.00", "unknown"))).lines.get()
    last = (today().replace(day=1) - days(1)).replace(day=1)
    closed = closed_month(world, (last - days(1)).replace(day=1))
    notes = Invoice.objects.filter(kind="credit_note")
    credits: Steps = {
        "credit": lambda by: credit_note_drafts.draft(
            invoice=invoice,
            net=Decimal(1000),
            reason="x",
            expected_credited=Decimal(0),
            by=by,
        ),
        "issue credit note": lambda by: credit_note_drafts.issue(note=notes.latest("pk"), by=by),
    }
    return {
        "write-off": Correction(
            {
                "propose all": lambda by: propose_write_off(invoice, "500", by),
                "propose a part": lambda by: propose_write_off(invoice, "50", by),
                "approve": lambda by: write_offs.approve(
                    write_off=WriteOff.objects.latest("pk"), by=by
                ),
            },
            lambda: sum(row.amount for row in WriteOff.objects.filter(state="posted")) > 50,
        ),
        "credit note": Correction(
            credits
            | {
                "credit a part": lambda by: credit_note_drafts.draft(
                    invoice=invoice, net=Decimal(40), reason="x", by=by
                )
            },
            lambda: sum(note.gross for note in notes.filter(state="issued")) > 50,
        ),
        "reversal": Correction(
            {
                "propose": lambda by: reversals.propose(
                    payment=invoice.payments.get(),
                    cause="chargeback",
                    reason="x",
                    dated_on=today(),
                    by=by,
                ),
                "approve": lambda by: reversals.approve(
                    reversal=PaymentReversal.objects.get(state="proposed"), by=by
                ),
            },
            PaymentReversal.objects.filter(state="posted").exists,
        ),
        "month": Correction(
            {
                "propose closing": lambda by: periods.propose(
                    month=last, checklist=[], note="", by=by
                ),
                "close": lambda by: periods.approve(
                    period=Period.objects.get(state="proposed"), checklist=[], by=by
                ),
                "propose reopening": lambda by: periods.propose_reopening(
                    period=closed, reason="x", by=by
                ),
                "reopen": lambda by: periods.approve_reopening(
                    reopening=PeriodReopening.objects.get(state="proposed"), by=by
                ),
            },
            lambda: (
                Period.objects.get(pk=closed.pk).state != "closed"
                or Period.objects.filter(month=last, state="closed").exists()
            ),
        ),
        "credit and suspense": Correction(
            {
                "assign line": lambda by: reconciliation.assign(
                    line=line, parts=[(invoice, line.amount)], by=by
                ),
                **credits,
                "propose refund": lambda by: overpayment_refunds.propose(
                    invoice=invoice, amount=Decimal(1), by=by
                ),
                "send refund": lambda by: overpayment_refunds.send(
                    refund=OverpaymentRefund.objects.latest("pk"), by=by
                ),
                "order an audit": lambda by: orders.accept(
                    order=AuditOrder.objects.latest("pk"), typed_name="x", digest="x", by=by
                ),
            },
            Payment.objects.filter(kind=Payment.Kind.PAID_BACK).exists,
        ),
    }


@pytest.mark.parametrize(
    "names",
    [["finance"], ["finance", "consultant"], ["finance", "admin"], ["consultant", "admin"]],
    ids=" and ".join,
)
def test_no_correction_is_completed_by_one_person_or_by_a_pair_outside_finance(
    world: World, names: list[str]
) -> None:
    people = [getattr(world, name) for name in names]
    for wanted, correction in corrections(world).items():
        assert not correction.has_left()
        assert thefts(correction, people, {marks()}, []) == [], wanted


def test_two_people_of_finance_complete_every_correction(world: World) -> None:
    for wanted, correction in corrections(world).items():
        with undone():
            assert thefts(correction, [world.finance, world.controller], {marks()}, []), wanted
