"""Money at risk: payments and fees that may have to be refunded, with the latest estimate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.common.money import gross_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.ledger import chart
from engagements.ledger.models import Account
from engagements.ledger.queries import BalanceRow, balances_of_engagements, trial_balance
from engagements.runs.estimates import Estimate, latest_estimates


@dataclass(frozen=True)
class RiskRow:
    """One engagement's refund liability by the ledger: net and gross."""

    engagement: Engagement
    currency: str
    liability: Decimal
    with_tax: Decimal
    target: Decimal | None
    estimate: Estimate | None


def totals() -> list[BalanceRow]:
    """The total refund liability by currency."""
    return [row for row in trial_balance() if row.account.code == chart.REFUND_LIABILITY]


def largest(count: int) -> list[RiskRow]:
    """The largest liabilities of each currency, at most `count` in all."""
    currencies = [row.currency for row in totals() if row.balance]
    return [row for currency in currencies for row in rows(currency, count=count)][:count]


def rows(currency: str, *, text: str = "", count: int = 50, offset: int = 0) -> list[RiskRow]:
    """Engagements with a refund liability, the largest first."""
    account = Account.objects.get(code=chart.REFUND_LIABILITY)
    balances = balances_of_engagements(account, currency, text=text, count=count, offset=offset)
    keys = [row.engagement.pk for row in balances]
    estimates = latest_estimates(keys)
    contracts = {
        contract.engagement_id: contract
        for contract in ContractVersion.objects.filter(
            engagement__in=keys, state=ContractVersion.State.ACCEPTED
        )
    }
    return [
        _row(
            row.engagement,
            currency,
            -row.balance,
            contracts.get(row.engagement.pk),
            estimates.get(row.engagement.pk),
        )
        for row in balances
    ]


def _row(
    engagement: Engagement,
    currency: str,
    liability: Decimal,
    contract: ContractVersion | None,
    estimate: Estimate | None,
) -> RiskRow:
    rate = contract.tax_rate_percent if contract else Decimal(0)
    return RiskRow(
        engagement=engagement,
        currency=currency,
        liability=liability,
        with_tax=gross_of(liability, rate, currency),
        target=contract.target if contract else None,
        estimate=estimate,
    )
