"""An engagement's balances by account, from which the next posting is computed.

Charges have none: what is billed beside the fee changes nothing of the fee.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db.models import F, Sum

from engagements.common.money import quantize
from engagements.engagement.models import Engagement
from engagements.ledger import chart
from engagements.ledger.models import Leg, MonthTotal

NOTHING = Decimal(0)


@dataclass(frozen=True)
class Positions:
    """Balances by account in one currency: debit positive, credit negative.

    `is_charge`: for postings about the invoice of a charge; all balances are zero.
    """

    balances: Mapping[str, Decimal]
    currency: str
    is_charge: bool = False

    def balance(self, account: str) -> Decimal:
        """The balance of an account; zero without postings."""
        return self.balances.get(account, NOTHING)

    def debit(self, account: str) -> Decimal:
        """The balance on the debit side; never negative."""
        return max(self.balance(account), NOTHING)

    def credit(self, account: str) -> Decimal:
        """The balance on the credit side; never negative."""
        return max(-self.balance(account), NOTHING)

    def plus(self, effect: Mapping[str, Decimal]) -> Positions:
        """The balances after `effect`."""
        changed = {account: self.balance(account) + change for account, change in effect.items()}
        return replace(self, balances={**self.balances, **changed})

    @property
    def audit_billed(self) -> Decimal:
        """The billed part of the audit's revenue, net."""
        return self.credit(chart.AUDIT_REVENUE) - self.debit(chart.AUDIT_UNBILLED)

    def received_net(self) -> Decimal:
        """Payments received for invoices, net and rounded.

        Excludes overpayments and money in transit.
        """
        held = (
            *(chart.SUSPENSE, chart.EXCHANGE_POSITION),
            *(chart.TRANSFERS, chart.MOVED_PAYMENTS),
        )
        received = max(sum((self.balance(account) for account in held), NOTHING), NOTHING)
        # Written off without a change of the tax, as the tax of a bad debt is.
        losses = (chart.BANK_CHARGES, chart.EXCHANGE, chart.WITHHOLDING)
        billed = self.balance(chart.RECEIVABLES) + sum(map(self.balance, losses), NOTHING)
        gross = billed + received
        if gross <= 0:
            return NOTHING
        net = max(gross - self.credit(chart.OUTPUT_TAX), NOTHING)
        return quantize(min(received, gross) * net / gross, self.currency)


def positions_of(engagement: Engagement, currency: str) -> Positions:
    """Read the balances of an engagement's fee. Lock the engagement before posting from them."""
    totals = (
        MonthTotal.objects.filter(engagement=engagement, currency=currency)
        .values_list("account__code")
        .annotate(balance=Sum(F("debit") - F("credit")))
    )
    beside = (
        Leg.objects.filter(entry__engagement=engagement, entry__is_charge=True, currency=currency)
        .order_by()
        .values_list("account__code")
        .annotate(balance=Sum("amount"))
    )
    charged = dict(beside)
    balances = {code: balance - charged.get(code, NOTHING) for code, balance in totals}
    return Positions(balances=balances, currency=currency)


def positions_of_charge(currency: str) -> Positions:
    """The positions for postings about the invoice of a charge."""
    return Positions(balances={}, currency=currency, is_charge=True)
