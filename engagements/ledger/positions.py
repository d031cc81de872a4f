"""Where an engagement stands on the accounts, as the postings that follow need it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, Sum

from engagements.ledger import chart
from engagements.models import Engagement, MonthTotal
from engagements.money import quantize


@dataclass(frozen=True)
class Positions:
    """An engagement's balances in one currency by account: debit positive, credit negative."""

    balances: dict[str, Decimal]
    currency: str

    def debit(self, account: str) -> Decimal:
        """The balance on the debit side; never negative."""
        return max(self.balances.get(account, Decimal(0)), Decimal(0))

    def credit(self, account: str) -> Decimal:
        """The balance on the credit side; never negative."""
        return max(-self.balances.get(account, Decimal(0)), Decimal(0))

    def with_payment(self, amount: Decimal) -> Positions:
        """The balances once `amount` (gross) is received."""
        received = {chart.BANK: amount, chart.RECEIVABLES: -amount}
        changed = {
            code: self.balances.get(code, Decimal(0)) + change for code, change in received.items()
        }
        return Positions(balances=self.balances | changed, currency=self.currency)

    @property
    def audit_billed(self) -> Decimal:
        """The part of the audit's revenue that stands on invoices: net."""
        return self.credit(chart.AUDIT_REVENUE) - self.debit(chart.AUDIT_UNBILLED)

    def received_net(self) -> Decimal:
        """What was received for invoices and not sent back, without its tax, rounded.

        Money beyond what was billed is no fee: it counts towards no invoice.
        """
        received = self.debit(chart.BANK)
        gross = self.balances.get(chart.RECEIVABLES, Decimal(0)) + received
        tax = self.credit(chart.OUTPUT_TAX)
        if gross <= 0:
            return Decimal(0)
        return quantize(min(received, gross) * (gross - tax) / gross, self.currency)


def positions_of(engagement: Engagement, currency: str) -> Positions:
    """The balances as they are now; whoever posts by them holds the engagement's lock."""
    totals = (
        MonthTotal.objects.filter(engagement=engagement, currency=currency)
        .values_list("account__code")
        .annotate(balance=Sum(F("debit") - F("credit")))
    )
    return Positions(balances=dict(totals), currency=currency)
