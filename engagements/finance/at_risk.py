"""Money at risk: payments and fees that may have to be refunded, with the latest estimate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, Sum

from engagements.billing.payment_models import Payment
from engagements.common.money import gross_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.ledger import chart
from engagements.ledger.models import Account
from engagements.ledger.queries import BalanceRow, balances_of_engagements, trial_balance
from engagements.runs.estimates import Estimate, latest_estimates
from engagements.settlements.models import Settlement
from engagements.settlements.queries import OPEN_SETTLEMENTS


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


@dataclass(frozen=True)
class AtRisk:
    """Refundable gross payments of one contract, in `currency`."""

    engagement: Engagement
    contract: ContractVersion
    currency: str
    received: Decimal
    could_go_back: Decimal
    estimate: Estimate | None


def money_at_risk() -> list[AtRisk]:
    """Contracts whose payments may have to be refunded.

    Either the verdict is open, or the target was missed and the refund was not sent yet. The
    amount kept is at risk again while a further settlement is proposed.
    """
    gone = Settlement.objects.filter(state__in=(Settlement.State.PAYING, Settlement.State.PAID))
    waiting = set(OPEN_SETTLEMENTS) - {Settlement.State.PAYING}
    further = {
        row.contract_version_id: row
        for row in Settlement.objects.filter(reason=Settlement.Reason.FURTHER, state__in=waiting)
    }
    is_first = Q(engagement__stage__in=(Stage.ACTIVE, Stage.MISSED)) & ~Q(
        pk__in=gone.values("contract_version")
    )
    contracts = (
        ContractVersion.objects.filter(
            is_first | Q(pk__in=further), state=ContractVersion.State.ACCEPTED
        )
        .select_related("engagement__customer")
        .order_by("engagement__reference")
    )
    received = dict(
        Payment.objects.filter(invoice__engagement__contracts__in=contracts)
        .order_by()
        .values_list("invoice__engagement__contracts")
        .annotate(total=Sum("amount"))
    )
    estimates = latest_estimates([contract.engagement_id for contract in contracts])
    return [
        _at_risk(contract, received[contract.pk], further.get(contract.pk), estimates)
        for contract in contracts
        if contract.pk in received
    ]


def _at_risk(
    contract: ContractVersion,
    received: Decimal,
    further: Settlement | None,
    estimates: dict[int, Estimate],
) -> AtRisk:
    kept = gross_of(contract.audit_cost, contract.tax_rate_percent, contract.currency)
    if further is not None:
        received -= further.refunded_before
        kept = further.audit_cost + further.audit_tax
    return AtRisk(
        engagement=contract.engagement,
        contract=contract,
        currency=contract.currency,
        received=received,
        could_go_back=max(received - kept, Decimal(0)),
        estimate=estimates.get(contract.engagement_id),
    )
