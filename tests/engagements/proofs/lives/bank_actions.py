"""Random lines of bank statements: payments, executed transfers, returned refunds."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import Q

from engagements.billing import reconciliation
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankLine
from engagements.common import money
from engagements.payouts import bank_matching
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.proofs.lives.actions import BILLED, WHICH, request
from tests.engagements.proofs.lives.settlement_actions import SettlementActions


class BankActions(SettlementActions):
    """The bank, and finance who reads its statements."""

    @request(
        BILLED,
        which=WHICH,
        share=["all", "third", "all", "twice"],
        how=["assign", "assign", "set aside", "leave"],
    )
    def pay_by_bank(self, which: int, share: str, how: str) -> None:
        row = self.invoice(which)
        if row is None:
            return
        unit = money.minor_unit(row.currency)
        open_amount = max(balance_of(row).open_amount, unit)
        amount = {
            "all": open_amount,
            "third": max(money.quantize(open_amount / 3, row.currency), unit),
            "twice": 2 * open_amount,
        }[share]
        line = self._line(amount, row.currency, "")
        by = self.world.finance
        if how == "set aside":
            self.ask(
                "set line aside", lambda: reconciliation.set_aside(line=line, note="No.", by=by)
            )
        elif how == "assign":
            self.ask(
                "assign line",
                lambda: reconciliation.assign(line=line, parts=[(row, amount)], by=by),
                twice=True,
            )

    @request(BILLED, which=WHICH)
    def clear_line(self, which: int) -> None:
        """Assign a line that was left open, set aside, or opened again by a reversal."""
        line = self.one(BankLine.objects.filter(state__in=["open", "set_aside"], amount__gt=0), 0)
        row = self.invoice(which)
        if row and line and not line.end_to_end_id:
            self.ask(
                "clear suspense",
                lambda: reconciliation.assign(
                    line=line, parts=[(row, line.amount)], by=self.world.finance
                ),
            )

    @request(BILLED, which=WHICH, kind=["executed", "returned", "returned"])
    def see_refund(self, which: int, kind: str) -> None:
        """A statement shows a refund of ours: executed, or returned after it was paid."""
        settled = Q(settlement__contract_version__engagement=self.engagement)
        transfers = list(Transfer.objects.filter(settled).exclude(outcome="failed").order_by("pk"))
        rows: list[Transfer | OverpaymentRefund] = [
            *transfers,
            *OverpaymentRefund.objects.filter(
                invoice__engagement=self.engagement, state__in=["paying", "paid"]
            ).order_by("pk"),
        ]
        if not rows:
            return
        refund = rows[which % len(rows)]
        if isinstance(refund, Transfer):
            name, state, currency = refund.end_to_end_id, refund.outcome, refund.currency
        else:
            assert refund.left is not None  # set when it was sent
            name, state, currency = refund.left.reference, refund.state, refund.invoice.currency
        sent = refund.started_by if isinstance(refund, Transfer) else refund.sent_by
        # The sender is declined.
        by = self.world.controller if sent == self.world.finance else self.world.finance
        sign = 1 if kind == "returned" else -1
        line = self._line(sign * refund.amount, currency, name)
        done = self.ask(
            f"match {kind}",
            lambda: bank_matching.match(line=line, targets=[refund], by=by),
            twice=True,
        )
        if done and kind == "returned" and state == "paid":
            self.granted["return of a paid refund"] += 1
            # The approver is declined, the other person pays it again.
            for who in ("controller", "finance"):
                self.move_money("paid", which, who)

    def _line(self, amount: Decimal, currency: str, end_to_end_id: str) -> BankLine:
        """Import a statement of one line, dated today."""
        content = statement(
            (str(amount), self.fresh()),
            currency=currency,
            day=f"{self.clock.now.date()}",
            details=f"<Refs><EndToEndId>{end_to_end_id}</EndToEndId></Refs>"
            if end_to_end_id
            else "",
        )
        row = imported(self.world, content, name=f"{self.number}.xml")
        self.is_held = False
        return row.lines.get()
