"""What settling a contract comes to, and everything that it will set going."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Sum

from engagements.billing.payment_models import Payment
from engagements.common.dates import in_words
from engagements.common.money import quantize
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.ledger import chart, effects
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.settlements import credit_plans
from engagements.settlements.credit_plans import CreditPlan
from engagements.settlements.models import Settlement

NOTHING = Decimal(0)
# Money in flight counts as gone.
GONE = (Settlement.State.PAYING, Settlement.State.PAID)


@dataclass(frozen=True)
class Line:
    """One line of the account: what came in is positive, what is kept negative."""

    label: str
    amount: Decimal


@dataclass(frozen=True)
class PlannedEntry:
    """An entry of the ledger to come: amounts by account, debit positive, credit negative."""

    kind: Entry.Kind
    about: str
    effect: Effect


@dataclass(frozen=True)
class Calculation:
    """What settling now comes to, gross, in `currency`. `refund` or `balance_due` is nothing."""

    payments_received: Decimal
    refunded_before: Decimal
    audit_cost: Decimal
    audit_tax: Decimal
    refund: Decimal
    balance_due: Decimal
    currency: str
    lines: tuple[Line, ...]
    credits: CreditPlan
    void: tuple[Milestone, ...]
    entries: tuple[PlannedEntry, ...]


def preview(*, contract: ContractVersion, audit_cost: Decimal | None = None) -> Calculation:
    """What a settlement of `contract` would come to if it were proposed now.

    It keeps the `audit_cost` (net) that the contract says, or a smaller one of its own.
    """
    currency = contract.currency
    kept = quantize(contract.audit_cost if audit_cost is None else audit_cost, currency)
    payments = list(
        Payment.objects.filter(invoice__engagement=contract.engagement_id)
        .select_related("invoice", "moved_from__invoice", "moved_to__invoice")
        .order_by("received_on", "pk")
    )
    received = quantize(sum((payment.amount for payment in payments), NOTHING), currency)
    before = quantize(refunded(contract), currency)
    credits = credit_plans.plan(contract=contract, audit_cost=kept)
    tax = quantize(credits.audit_tax, currency)
    rest = received - before - kept - tax
    nothing = quantize(NOTHING, currency)
    refund = max(rest, nothing)
    return Calculation(
        payments_received=received,
        refunded_before=before,
        audit_cost=kept,
        audit_tax=tax,
        refund=refund,
        balance_due=max(-rest, nothing),
        currency=currency,
        lines=_lines(contract, payments, before, kept, tax),
        credits=credits,
        void=tuple(_unearned(contract, is_audit_billed=credits.unbilled == 0)),
        entries=tuple(_entries(contract, kept, credits, refund)),
    )


def refunded(contract: ContractVersion) -> Decimal:
    """What went back in the contract's engagement already, or is on its way: gross."""
    gone = Settlement.objects.filter(
        contract_version__engagement=contract.engagement_id, state__in=GONE
    )
    return gone.aggregate(total=Sum("refund"))["total"] or NOTHING


def _lines(
    contract: ContractVersion,
    payments: Sequence[Payment],
    before: Decimal,
    kept: Decimal,
    tax: Decimal,
) -> tuple[Line, ...]:
    lines = [
        Line(
            f"{payment.invoice.reference}, {payment.description} {in_words(payment.received_on)} "
            f"({payment.reference})",
            quantize(payment.amount, contract.currency),
        )
        for payment in payments
    ]
    if before:
        lines.append(Line("Went back before", -before))
    lines.append(Line("Audit, kept", -kept))
    lines.append(Line(f"Tax on the audit, {contract.tax_rate_percent.normalize():f}%", -tax))
    return tuple(lines)


def _unearned(contract: ContractVersion, *, is_audit_billed: bool) -> list[Milestone]:
    """The milestones that nobody is asked for any more.

    Those on invoices fall away with their credit notes. The audit's own stays where its cost
    stands on no invoice yet.
    """
    milestones = Milestone.objects.filter(
        contract_version__engagement=contract.engagement_id,
        contract_version__sealed_at__isnull=False,
        state__in=(Milestone.State.PENDING, Milestone.State.RELEASED),
    ).order_by("contract_version__number", "position")
    if not is_audit_billed:
        milestones = milestones.exclude(
            condition=ReleaseCondition.AUDIT_DELIVERED, state=Milestone.State.RELEASED
        )
    return list(milestones)


def _entries(
    contract: ContractVersion, kept: Decimal, credits: CreditPlan, refund: Decimal
) -> list[PlannedEntry]:
    """The ledger's entries in their order, from the proposal to the refund's arrival."""
    position = positions_of(contract.engagement, contract.currency)
    planned = []

    def add(kind: Entry.Kind, about: str, effect: Effect) -> None:
        nonlocal position
        position = position.plus(effect)
        if any(effect.values()):
            planned.append(PlannedEntry(kind, about, effect))

    add(
        Entry.Kind.SETTLEMENT_PROPOSED,
        "the audit, as it is kept",
        effects.audit_earned(position, kept),
    )
    for credit in (*credits.cancelled, *credits.refunded):
        effect = effects.credited(position, net=credit.net, tax=credit.tax)
        add(Entry.Kind.CREDIT_NOTE_ISSUED, f"off {credit.invoice.reference}", effect)
    payable, under_way = chart.REFUND_PAYABLE, chart.TRANSFERS
    for kind, source, to in (
        (Entry.Kind.SETTLEMENT_APPROVED, payable, chart.RECEIVABLES),
        (Entry.Kind.SETTLEMENT_PAYING, under_way, payable),
        (Entry.Kind.SETTLEMENT_PAID, chart.BANK, under_way),
    ):
        add(kind, "the refund", effects.moved(refund, source=source, to=to))
    return planned
