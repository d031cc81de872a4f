"""The calculation of a settlement, and its effects: credit notes, milestones, ledger entries."""

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
from engagements.ledger.models import Account, Entry
from engagements.ledger.positions import positions_of
from engagements.settlements import credit_plans
from engagements.settlements.credit_plans import CreditPlan
from engagements.settlements.models import Settlement
from engagements.settlements.queries import REFUNDED

ZERO = Decimal(0)


@dataclass(frozen=True)
class Line:
    """One line of the calculation: payments are positive, deductions negative."""

    label: str
    amount: Decimal


@dataclass(frozen=True)
class PlannedEntry:
    """A future ledger entry: amounts by account code, debit positive, credit negative."""

    kind: Entry.Kind
    about: str
    effect: Effect

    @property
    def legs(self) -> list[tuple[Account, Decimal]]:
        """The accounts of the effect with their amounts."""
        amounts = {code: amount for code, amount in self.effect.items() if amount}
        accounts = Account.objects.in_bulk(list(amounts), field_name="code")
        return [(accounts[code], amount) for code, amount in amounts.items()]


@dataclass(frozen=True)
class Calculation:
    """The figures of a settlement proposed now, gross, in `currency`.

    `refund` or `balance_due` is zero.
    """

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
    """Calculate a settlement of `contract` proposed now.

    `audit_cost` (net) is the amount kept; None for the contract's.
    """
    currency = contract.currency
    kept = quantize(contract.audit_cost if audit_cost is None else audit_cost, currency)
    payments = list(
        Payment.objects.filter(
            invoice__engagement=contract.engagement_id, invoice__charge__isnull=True
        )
        .select_related("invoice", "moved_from__invoice", "moved_to__invoice")
        .order_by("received_on", "pk")
    )
    received = quantize(sum((payment.amount for payment in payments), ZERO), currency)
    before = quantize(refunded(contract), currency)
    credits = credit_plans.plan(contract=contract, audit_cost=kept)
    if credits.unbilled and not can_bill_audit(contract):
        # Without an audit milestone the remainder cannot be invoiced, so it is waived.
        kept -= credits.unbilled
        credits = credit_plans.plan(contract=contract, audit_cost=kept)
    tax = quantize(credits.audit_tax, currency)
    balance = received - before - kept - tax
    zero = quantize(ZERO, currency)
    refund = max(balance, zero)
    return Calculation(
        payments_received=received,
        refunded_before=before,
        audit_cost=kept,
        audit_tax=tax,
        refund=refund,
        balance_due=max(-balance, zero),
        currency=currency,
        lines=_lines(contract, payments, before, kept, tax),
        credits=credits,
        void=tuple(_unearned(contract, is_audit_billed=credits.unbilled == 0)),
        entries=tuple(_entries(contract, kept, credits, refund)),
    )


def can_bill_audit(contract: ContractVersion) -> bool:
    """Whether a milestone bills the audit: released or pending, or billed already."""
    return Milestone.objects.filter(
        contract_version__engagement=contract.engagement_id,
        contract_version__sealed_at__isnull=False,
        condition=ReleaseCondition.AUDIT_DELIVERED,
    ).exists()


def refunded(contract: ContractVersion) -> Decimal:
    """Return the refunds of the engagement that are paid or on their way (gross)."""
    rows = Settlement.objects.filter(
        contract_version__engagement=contract.engagement_id, state__in=REFUNDED
    )
    return rows.aggregate(total=Sum("refund"))["total"] or ZERO


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
        lines.append(Line("Refunded before", -before))
    lines.append(Line("Audit cost", -kept))
    lines.append(Line(f"Tax on the audit cost, {contract.tax_rate_percent.normalize():f}%", -tax))
    return tuple(lines)


def _unearned(contract: ContractVersion, *, is_audit_billed: bool) -> list[Milestone]:
    """Return the milestones that become void.

    Billed ones are credited instead. The audit's own stays while its cost is not billed.
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
    """Return the ledger entries in order, from the proposal to the refund's payment."""
    position = positions_of(contract.engagement, contract.currency)
    planned = []

    def add(kind: Entry.Kind, about: str, effect: Effect) -> None:
        nonlocal position
        position = position.plus(effect)
        if any(effect.values()):
            planned.append(PlannedEntry(kind, about, effect))

    add(
        Entry.Kind.SETTLEMENT_PROPOSED,
        "audit cost",
        effects.audit_earned(position, kept),
    )
    for credit in (*credits.cancelled, *credits.refunded):
        effect = effects.credited(position, net=credit.net, tax=credit.tax)
        add(Entry.Kind.CREDIT_NOTE_ISSUED, credit.invoice.reference, effect)
    payable, under_way = chart.REFUND_PAYABLE, chart.TRANSFERS
    for kind, source, to in (
        (Entry.Kind.SETTLEMENT_APPROVED, payable, chart.RECEIVABLES),
        (Entry.Kind.SETTLEMENT_PAYING, under_way, payable),
        (Entry.Kind.SETTLEMENT_PAID, chart.SUSPENSE, under_way),
    ):
        add(kind, "refund", effects.moved(refund, source=source, to=to))
    return planned
