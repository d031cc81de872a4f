"""Random lines of bank files: payments, executed transfers, returned refunds, and CSVs.

CSVs are of an account of their own, as a day of an account is imported in one format.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from django.db.models import Q

from engagements.billing import bank_imports, csv_confirmations, reconciliation
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankImport, BankLine
from engagements.billing.models import Invoice
from engagements.common import money
from engagements.payouts import bank_matching
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.payouts.test_csv_confirmations import LAYOUT
from tests.engagements.proofs.lives.actions import BILLED, WHICH, request
from tests.engagements.proofs.lives.settlement_actions import SettlementActions

CSV_ACCOUNT = "DE02120300000000202051"


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
        amount = self._share(row, share)
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
        """Assign a line that was left open, set aside, opened by a reversal, or of a CSV."""
        lines = BankLine.objects.filter(state__in=["open", "set_aside"], amount__gt=0)
        line = self.one(lines.select_related("bank_import"), which)
        row = self.invoice(which)
        if row and line and not line.end_to_end_id:
            is_csv = line.bank_import.format == BankImport.Format.CSV
            self.ask(
                "assign csv line" if is_csv else "clear suspense",
                lambda: reconciliation.assign(
                    line=line, parts=[(row, line.amount)], by=self.world.finance
                ),
            )

    @request(BILLED, which=WHICH, share=["all", "third", "twice"], count=[1, 1, 2])
    def import_csv(self, which: int, share: str, count: int) -> None:
        """Finance brings a CSV with a payment, which may be in it twice."""
        invoice = self.invoice(which)
        if invoice is None:
            return
        text = self.fresh()
        line = f"{self.clock.now.date()};{self._share(invoice, share)};{text};Acme\n"
        content = f"Day;Amount;Text;Payer {text}\n{line * count}".encode()
        self.ask(
            "import csv",
            lambda: bank_imports.import_file(
                filename=f"{text}.csv", content=content, by=self.world.finance
            ),
            twice=True,
        )

    @request(BILLED, by=["finance", "controller", "consultant"])
    def choose_columns(self, by: str) -> None:
        row = BankImport.objects.filter(repeated_count__isnull=True).first()
        invoice = self.invoice(0)
        if row and invoice:
            layout = replace(LAYOUT, account=CSV_ACCOUNT, currency=invoice.currency)
            self.ask(
                "choose columns",
                lambda: bank_imports.choose_columns(
                    bank_import=row, layout=layout, by=getattr(self.world, by)
                ),
                twice=True,
            )

    @request(BILLED, by=["finance", "controller", "controller", "consultant"])
    def confirm_csv(self, by: str) -> None:
        row = csv_confirmations.waiting().first()
        if row is None:
            return
        done = self.ask(
            "confirm csv",
            lambda: csv_confirmations.confirm(bank_import=row, by=getattr(self.world, by)),
            twice=True,
        )
        if done:
            assert done.confirmation.confirmed_by_id != done.imported_by_id
            assert by in ("finance", "controller")

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

    def _share(self, invoice: Invoice, share: str) -> Decimal:
        """All, a third or twice of what is open on an invoice; one unit at least."""
        currency = invoice.currency
        unit = money.minor_unit(currency)
        open_amount = max(balance_of(invoice).open_amount, unit)
        return {
            "all": open_amount,
            "third": max(money.quantize(open_amount / 3, currency), unit),
            "twice": 2 * open_amount,
        }[share]

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
