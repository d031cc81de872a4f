"""Settlements and the contracts that need one."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import (
    Case,
    DecimalField,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Least

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.settlements.models import Settlement

State = Settlement.State
OPEN_SETTLEMENTS = (State.PROPOSED, State.APPROVED, State.PAYING, State.FAILED)
# Money in flight counts as refunded.
REFUNDED = (State.PAYING, State.PAID)
# Prefetched for `is_on_hold` and `refund_due_on`.
WITH_DISPUTES = (
    "disputes",
    "contract_version__settlements__disputes",
    "contract_version__engagement__measurement_disputes",
)
AMOUNT = DecimalField(max_digits=14, decimal_places=3)


def live_settlements() -> QuerySet[Settlement]:
    """Settlements that are not voided."""
    return Settlement.objects.exclude(state=State.VOIDED)


def settlements_waiting() -> QuerySet[Settlement]:
    """Open settlements, the oldest first."""
    return (
        Settlement.objects.filter(state__in=OPEN_SETTLEMENTS)
        .select_related("contract_version__engagement__customer", "proposed_by", "approved_by")
        .prefetch_related(*WITH_DISPUTES)
        .order_by("proposed_at", "pk")
    )


def settlements_done(limit: int = 10) -> list[Settlement]:
    """The newest settlements that are paid or voided."""
    return list(
        Settlement.objects.exclude(state__in=OPEN_SETTLEMENTS)
        .select_related("contract_version__engagement__customer")
        .order_by("-proposed_at", "-pk")[:limit]
    )


def settlements_of(engagements: Iterable[Engagement]) -> dict[int, Settlement]:
    """The newest settlement that is not voided, by engagement."""
    rows = live_settlements().filter(contract_version__engagement__in=engagements)
    rows = rows.select_related("contract_version__engagement").prefetch_related(*WITH_DISPUTES)
    return {row.contract_version.engagement_id: row for row in rows.order_by("proposed_at")}


def settlement_of(engagement: Engagement) -> Settlement | None:
    """The newest settlement that is not voided."""
    return (
        live_settlements()
        .filter(contract_version__engagement=engagement)
        .order_by("-proposed_at")
        .first()
    )


@dataclass(frozen=True)
class PendingSettlement:
    """A contract that needs a settlement, and its last one: voided, or paid before more
    payments were received or more was credited."""

    contract: ContractVersion
    last: Settlement | None

    @property
    def credited_after(self) -> Invoice | None:
        """The first credit note after the paid settlement: the customer is owed it."""
        if self.last is None or self.last.paid_at is None:
            return None
        notes = Invoice.objects.filter(
            engagement=self.contract.engagement_id,
            charge__isnull=True,
            kind=Invoice.Kind.CREDIT_NOTE,
            issued_at__gt=self.last.paid_at,
        )
        return notes.order_by("issued_at").first()

    @property
    def due_on(self) -> datetime.date | None:
        """The due date of an amount owed after a credit: `refund_days` of the contract after."""
        note, days = self.credited_after, self.contract.refund_days
        if note is None or note.issued_on is None or not days:
            return None
        return note.issued_on + datetime.timedelta(days=days)


def pending_settlements(
    *, today: datetime.date, limit: int | None = None
) -> list[PendingSettlement]:
    """The first `limit` contracts that need a settlement, each with its last one."""
    contracts = contracts_to_settle(today=today)[:limit]
    return [
        PendingSettlement(contract, contract.settlements.all().first()) for contract in contracts
    ]


def contracts_to_settle(*, today: datetime.date) -> QuerySet[ContractVersion]:
    """Contracts in force that need a settlement and have no open one.

    The target was missed, the time-box ended before `today` without a verdict, or payments were
    received after the last settlement.
    """
    ended = Q(engagement__stage=Stage.MISSED) | Q(
        engagement__stage=Stage.ACTIVE, engagement__time_box__ends_on__lt=today
    )
    in_force = ContractVersion.objects.filter(state=ContractVersion.State.ACCEPTED)
    unsettled = in_force.filter(ended).exclude(pk__in=live_settlements().values("contract_version"))
    # A union, because two subqueries joined by OR read every contract.
    needed = unsettled.values("pk").union(contracts_with_unsettled_payments().values("pk"))
    return (
        in_force.filter(pk__in=needed)
        .select_related("engagement__customer")
        .prefetch_related("settlements__disputes", "engagement__measurement_disputes")
        .order_by("engagement__reference")
    )


def has_unsettled_payments(engagement: Engagement) -> bool:
    """Whether a settled engagement received more than its settlements kept and refunded."""
    return contracts_with_unsettled_payments().filter(engagement=engagement).exists()


def contracts_with_unsettled_payments() -> QuerySet[ContractVersion]:
    """Settled contracts that received more than their settlements kept and refunded."""
    of_contract = Settlement.objects.filter(contract_version=OuterRef("pk")).order_by("-pk")
    paid = of_contract.filter(state=State.PAID).annotate(kept=F("audit_cost") + F("audit_tax"))
    # A credit note after the settlement lowers the amount kept: the rest is owed.
    issued = Invoice.objects.filter(
        engagement=OuterRef("engagement"), charge__isnull=True, state=Invoice.State.ISSUED
    ).order_by()
    sign = Case(When(kind=Invoice.Kind.CREDIT_NOTE, then=Value(-1)), default=Value(1))
    billed = issued.values("engagement").annotate(total=Sum(F("gross") * sign)).values("total")
    refunded = of_contract.filter(state__in=REFUNDED).order_by().values("contract_version")
    payments = Payment.objects.filter(
        invoice__engagement=OuterRef("engagement"), invoice__charge__isnull=True
    ).order_by()
    received = payments.values("invoice__engagement").annotate(total=Sum("amount")).values("total")
    # An overturned settlement keeps nothing back: the whole fee is owed.
    ended = Q(state__in=OPEN_SETTLEMENTS) | Q(overturned_at__isnull=False)
    open_ones = Settlement.objects.filter(ended)
    # Looked up first: of all contracts, few have a settlement.
    settled = Settlement.objects.filter(state__in=REFUNDED)
    return (
        ContractVersion.objects.filter(pk__in=settled.values("contract_version"))
        .alias(
            received=Subquery(received, output_field=AMOUNT),
            kept=Least(
                Subquery(paid.values("kept")[:1], output_field=AMOUNT),
                Subquery(billed, output_field=AMOUNT),
            ),
            refunded=Subquery(
                refunded.annotate(sum=Sum("refund")).values("sum"), output_field=AMOUNT
            ),
        )
        .filter(received__gt=F("kept") + F("refunded"))
        .exclude(pk__in=open_ones.values("contract_version"))
    )
