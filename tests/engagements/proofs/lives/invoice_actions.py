"""Random requests about invoices, payments and credit notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engagements.billing import credit_note_drafts, invoices, payments, reversals, write_offs
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import money
from engagements.contracts.milestones.models import Milestone
from engagements.payouts import overpayment_refunds, overpayments
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.settlements.models import Settlement
from tests.engagements.proofs.lives.actions import BILLED, SIGNED, WHICH, Actions, request
from tests.engagements.world import days


class InvoiceActions(Actions):
    """Finance, and the customer who pays."""

    @request("redirected declined closed")
    def bill_order(self) -> None:
        order = self.engagement.audit_orders.filter(state="accepted").first()
        if order is None:
            return
        by = self.world.finance
        draft = self.ask(
            "draft order", lambda: invoices.draft_order(order=order, by=by), twice=True
        )
        if draft:
            self.ask("bill audit order", lambda: invoices.issue(invoice=draft, by=by), twice=True)

    @request(SIGNED, count=range(1, 4), which=WHICH)
    def bill(self, count: int, which: int) -> None:
        rows = list(
            Milestone.objects.filter(contract_version__engagement=self.engagement)
            .exclude(state__in=["pending", "void"])
            .select_related("contract_version")
            .order_by("pk")
        )
        chosen = (rows[which % len(rows) :] + rows)[:count] if rows else []
        by = self.world.finance
        draft = self.ask(
            "draft invoice", lambda: invoices.draft(milestones=chosen, by=by), twice=True
        )
        if draft:
            self.ask("issue invoice", lambda: invoices.issue(invoice=draft, by=by), twice=True)

    @request(BILLED, which=WHICH)
    def discard_draft(self, which: int) -> None:
        row = self.one(self.engagement.invoices.filter(state="draft"), which)
        if row:
            by = self.world.finance
            self.ask("discard invoice", lambda: invoices.discard(invoice=row, by=by) or row)

    @request(
        BILLED,
        which=WHICH,
        share=["all", "third", "unit", "one too much", "twice"],
        late=range(41),
        is_confirmed=[True, True, True, False],
    )
    def pay(self, which: int, share: str, late: int, is_confirmed: bool = True) -> None:
        row = self.invoice(which)
        if row is None:
            return
        unit = money.minor_unit(row.currency)
        open_amount = max(balance_of(row).open_amount, unit)
        amount = {
            "all": open_amount,
            "third": max(money.quantize(open_amount / 3, row.currency), unit),
            "unit": unit,
            "one too much": open_amount + unit,
            "twice": 2 * open_amount,
        }[share]
        reference = self.fresh()
        payment = self.ask(
            f"pay {share}",
            lambda: payments.record(
                invoice=row,
                amount=amount,
                received_on=self.clock.now.date() - days(late),
                reference=reference,
                by=self.world.finance,
                may_exceed=share in ("one too much", "twice"),
            ),
            twice=True,
        )
        if payment and is_confirmed:
            self.ask(
                "confirm payment",
                lambda: payments.confirm(payment=payment, by=self.world.controller),
                twice=True,
            )

    @request(BILLED, which=WHICH, cause=["mistyped", "chargeback"], by=["finance", "controller"])
    def reverse(self, which: int, cause: str, by: str) -> None:
        payment = self.one(
            Payment.objects.filter(invoice__engagement=self.engagement, kind="received"), which
        )
        if payment is None:
            return
        reversal = self.ask(
            "propose reversal",
            lambda: reversals.propose(
                payment=payment,
                cause=cause,
                reason="Wrong.",
                dated_on=self.clock.now.date(),
                by=self.world.finance,
            ),
        )
        if reversal:
            person = getattr(self.world, by)
            done = self.ask(
                "approve reversal", lambda: reversals.approve(reversal=reversal, by=person)
            )
            assert done is None or by == "controller"

    @request(BILLED, which=WHICH, kind=["bank_charges", "bad_debt"], by=["finance", "controller"])
    def write_off(self, which: int, kind: str, by: str) -> None:
        row = self.invoice(which)
        if row is None:
            return
        amount = max(balance_of(row).open_amount, money.minor_unit(row.currency))
        loss = self.ask(
            "write off",
            lambda: write_offs.propose(
                invoice=row, kind=kind, amount=amount, reason="Lost.", by=self.world.finance
            ),
        )
        if loss and loss.state == "proposed":
            person = getattr(self.world, by)
            done = self.ask(
                "approve write-off", lambda: write_offs.approve(write_off=loss, by=person)
            )
            assert done is None or by == "controller"

    @request(
        BILLED,
        which=WHICH,
        share=["all", "half", "unit"],
        bill_again=[True, False],
        by=["controller", "controller", "finance"],
    )
    def credit(self, which: int, share: str, bill_again: bool, by: str) -> None:
        row = self.invoice(which)
        if row is None:
            return
        unit = money.minor_unit(row.currency)
        net = {"all": None, "half": money.quantize(row.net / 2, row.currency), "unit": unit}[share]
        is_late = Settlement.objects.filter(
            contract_version__engagement=self.engagement, state="paid"
        ).exists()
        note = self.ask(
            f"credit {share}",
            lambda: credit_note_drafts.draft(
                invoice=row,
                reason="Agreed.",
                net=net,
                by=self.world.finance,
                bill_again=bill_again and net is None,
            ),
        )
        if note and note.state == "draft":
            person = getattr(self.world, by)
            draft = note
            note = self.ask(
                "issue credit note",
                lambda: credit_note_drafts.issue(note=draft, by=person),
                twice=True,
            )
            assert note is None or by == "controller"
        if note and is_late:
            self.granted["credit after a settlement"] += 1

    @request(
        BILLED,
        how=["move", "pay back"],
        which=WHICH,
        share=["all", "all", "unit", "one too much"],
    )
    def relieve(self, how: str, which: int, share: str) -> None:
        rows = self.engagement.invoices.filter(kind=Invoice.Kind.INVOICE, state="issued")
        standing = [(row, balance_of(row).open_amount) for row in rows.order_by("pk")]
        over = [row for row, open_amount in standing if open_amount < 0]
        if not over:
            return
        # One that is open, where there is one.
        takers = [row for row, open_amount in standing if open_amount > 0] or over
        row, other = over[which % len(over)], takers[which % len(takers)]
        unit = money.minor_unit(row.currency)
        excess = -balance_of(row).open_amount
        amount = {"all": excess, "unit": unit, "one too much": excess + unit}[share]
        if how == "move" and share == "all":
            amount = min(amount, max(balance_of(other).open_amount, unit))
        reference, by = self.fresh(), self.world.finance
        acts: dict[str, Callable[[], Any]] = {
            "move": lambda: overpayments.move(
                invoice=row, to=other, amount=amount, reference=reference, by=by
            ),
            "pay back": lambda: overpayment_refunds.propose(invoice=row, amount=amount, by=by),
        }
        done = self.ask(how, acts[how], twice=True)
        assert done is None or share != "one too much", "no more leaves than is too much"

    @request(
        BILLED,
        how=["send", "paid", "failed", "send", "void"],
        by=["controller", "controller", "finance"],
        which=WHICH,
    )
    def send_back(self, how: str, by: str, which: int) -> None:
        rows = list(
            OverpaymentRefund.objects.filter(invoice__engagement=self.engagement).order_by("pk")
        )
        if not rows:
            return
        row, person = rows[which % len(rows)], getattr(self.world, by)
        acts: dict[str, Callable[[], Any]] = {
            "send": lambda: overpayment_refunds.send(refund=row, by=person),
            "paid": lambda: overpayment_refunds.mark_paid(
                refund=row, reference=f"B-{row.pk}", by=person
            ),
            "failed": lambda: overpayment_refunds.mark_failed(
                refund=row, reason="Closed.", by=person
            ),
            "void": lambda: overpayment_refunds.void(refund=row, reason="Wrong.", by=person),
        }
        done = self.ask(f"overpayment-refund {how}", acts[how], twice=True)
        assert done is None or done.sent_by_id != done.proposed_by_id
