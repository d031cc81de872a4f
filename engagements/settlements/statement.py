"""The settlement statement: payments, refund, approvals, as a PDF with the calculation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from benchmarks.models import Record
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.verdict.explanations import level, shown_level
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import money, ratios
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.terms import terms_of
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument
from engagements.settlements.models import Settlement
from engagements.settlements.statement_steps import steps_to

if TYPE_CHECKING:
    from engagements.runs.models import EngagementRun

NOUN = "settlement"
SCHEMA = "twofold.settlement/2"
_RESULTS = {
    Milestone.State.PENDING: "pending",
    Milestone.State.RELEASED: "released, not billed",
    Milestone.State.BILLED: "billed",
    Milestone.State.VOID: "void, not owed",
}


def due() -> Iterator[Subject]:
    """Return every paid settlement."""
    paid = Settlement.objects.filter(state=Settlement.State.PAID).values_list("pk", flat=True)
    return (Subject(NOUN, pk) for pk in paid)


def compose(subject: Subject) -> RenderableDocument:
    """Compose the statement of a paid settlement."""
    settlement = Settlement.objects.select_related(
        "contract_version__engagement__customer", "proposed_by", "approved_by", "paid_by"
    ).get(pk=subject.pk)
    if settlement.state != Settlement.State.PAID or settlement.paid_at is None:
        raise ApplicationError(
            "A settlement statement is issued when the settlement is paid.",
            code="settlement_statement.not_paid",
        )
    contract = settlement.contract_version
    engagement = contract.engagement
    payments = list(
        Payment.objects.filter(
            invoice__engagement=engagement,
            invoice__charge__isnull=True,
            recorded_at__lte=settlement.proposed_at,
        ).select_related("invoice", "moved_from__invoice", "moved_to__invoice")
    )
    _require_to_add_up(settlement, payments)
    sealed = canonical(as_data(settlement, payments))
    return RenderableDocument(
        engagement=engagement,
        title=f"Settlement statement {engagement.reference}",
        running_title=f"Settlement statement {engagement.reference}",
        filename=f"{engagement.reference}-settlement-statement-{settlement.pk}.pdf",
        template="settlements/document/settlement_statement.html",
        dated=settlement.paid_at,
        seal=digest_of_bytes(sealed),
        sealed="The calculation, attached as settlement.json",
        summary=f"Payments, audit cost and refund of {engagement.reference}.",
        context=_context(settlement, payments, settlement.paid_at),
        enclosures=(Enclosure("settlement.json", sealed, "The calculation as data"),),
    )


def as_data(settlement: Settlement, payments: list[Payment]) -> dict[str, Any]:
    """Return the calculation as data (schema twofold.settlement/2)."""
    currency = settlement.currency
    contract = settlement.contract_version
    return {
        "schema": SCHEMA,
        "engagement": contract.engagement.reference,
        "contract": {"version": contract.number, "digest": contract.digest},
        "reason": settlement.reason,
        "currency": currency,
        "payments": [
            {
                "invoice": payment.invoice.reference,
                "kind": payment.kind,
                "received_on": payment.received_on.isoformat(),
                "reference": payment.reference,
                "amount": money.plain(payment.amount, currency),
            }
            for payment in payments
        ],
        "payments_received": money.plain(settlement.payments_received, currency),
        "refunded_before": money.plain(settlement.refunded_before, currency),
        "audit_cost": money.plain(settlement.audit_cost, currency),
        "audit_tax": money.plain(settlement.audit_tax, currency),
        "refund": money.plain(settlement.refund, currency),
        "refund_due_on": settlement.refund_due_on and settlement.refund_due_on.isoformat(),
        "balance_due": money.plain(settlement.balance_due, currency),
        "credit_notes": [
            {"number": note.reference, "gross": money.plain(note.gross, currency)}
            for note in _credit_notes(settlement)
        ],
        "payment_reference": settlement.payment_reference,
    }


def _require_to_add_up(settlement: Settlement, payments: list[Payment]) -> None:
    listed = sum((payment.amount for payment in payments), Decimal(0))
    if listed != settlement.payments_received:
        raise ApplicationError(
            f"The payments add up to {listed}, not to the settlement's "
            f"{settlement.payments_received} {settlement.currency}: no statement is issued.",
            code="settlement_statement.payments_differ",
        )


def _context(settlement: Settlement, payments: list[Payment], paid_at: datetime) -> dict[str, Any]:
    contract, currency = settlement.contract_version, settlement.currency
    terms = terms_of(contract)
    return {
        "engagement": contract.engagement,
        "settlement": settlement,
        "consultancy": formatting.party(terms["parties"]["consultancy"]),
        "customer": formatting.party(terms["parties"]["customer"]),
        "contract": contract,
        "signed_on": _signed_on(settlement),
        "target": formatting.plain_number(contract.target),
        "tax_rate": formatting.percent(contract.tax_rate_percent),
        "currency": currency,
        "has_refund": settlement.has_refund,
        "is_owed": settlement.balance_due > 0,
        "result": money.format_money(settlement.refund or settlement.balance_due, currency),
        "received": formatting.figure(settlement.payments_received, currency),
        "audit_cost": formatting.figure(-settlement.audit_cost, currency),
        "audit_tax": formatting.figure(-settlement.audit_tax, currency),
        "has_tax": settlement.audit_tax > 0,
        "refunded_before": settlement.refunded_before
        and formatting.figure(-settlement.refunded_before, currency),
        "credit_notes": [_credit_note(note, currency) for note in _credit_notes(settlement)],
        "further": settlement.note,
        "total": formatting.figure(settlement.refund or settlement.balance_due, currency),
        "payments": [_payment(payment, currency) for payment in payments],
        "milestones": [_milestone(each, currency) for each in _milestones(settlement)],
        "run": _deciding_run(settlement),
        "steps": steps_to(settlement, paid_at),
        "paid_on": in_words(paid_at),
        "refund_days": contract.refund_days,
        "refund_term_starts_on": in_words(settlement.refund_term_starts_on),
        "refund_due_on": settlement.refund_due_on and in_words(settlement.refund_due_on),
        "disputable_until": contract.dispute_days and in_words(settlement.disputable_until),
    }


def _credit_notes(settlement: Settlement) -> list[Invoice]:
    """Return the settlement's credit notes by number."""
    return list(settlement.credit_notes.select_related("corrects").order_by("pk"))


def _credit_note(note: Invoice, currency: str) -> dict[str, str]:
    assert note.corrects is not None
    assert note.issued_on is not None
    return {
        "number": note.reference,
        "corrects": note.corrects.reference,
        "issued_on": in_words(note.issued_on),
        "gross": formatting.figure(-note.gross, currency),
    }


def _milestones(settlement: Settlement) -> QuerySet[Milestone]:
    """Return the agreed milestones of all versions of the contract."""
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    return (
        Milestone.objects.filter(
            contract_version__engagement=settlement.contract_version.engagement_id,
            contract_version__state__in=agreed,
        )
        .exclude(
            contract_version__state=ContractVersion.State.SUPERSEDED, state=Milestone.State.VOID
        )
        .order_by("contract_version__number", "position")
    )


def _payment(payment: Payment, currency: str) -> dict[str, str]:
    is_received = payment.kind == Payment.Kind.RECEIVED
    return {
        "received_on": in_words(payment.received_on),
        "invoice": payment.invoice.reference,
        "reference": payment.reference
        if is_received
        else f"{payment.reference}, {payment.description}",
        "amount": formatting.figure(payment.amount, currency),
    }


def _milestone(milestone: Milestone, currency: str) -> dict[str, str]:
    return {
        "title": milestone.title,
        "net": formatting.figure(milestone.amount, currency),
        "billed_as": milestone.billing_reference or "not billed",
        "state": _RESULTS[Milestone.State(milestone.state)],
    }


def _signed_on(settlement: Settlement) -> str:
    last = settlement.contract_version.acceptances.order_by("-accepted_at").first()
    return in_words(last.accepted_at) if last else "not accepted"


def _by_customer(run: EngagementRun) -> str:
    """The measurement of the customer's runner, where both parties measure; else ""."""
    record: Record | None = getattr(getattr(run.counterpart, "run", None), "record", None)
    if record is None:
        return ""
    verdict = record.get_verdict_display().lower()
    return f"{ratios.with_interval(record.ratio, record.low, record.high)}, {verdict}"


def _deciding_run(settlement: Settlement) -> dict[str, str] | None:
    """Return the acceptance run that missed the target; None where the time-box ended."""
    if settlement.reason != Settlement.Reason.MISSED:
        return None
    runs = settlement.contract_version.engagement.runs.filter(final_at__isnull=False)
    run = runs.select_related("run__record").first()
    if run is None:
        return None
    record: Record | None = getattr(run.run, "record", None)
    if record is None:
        return {
            "name": f"run {run.run_id}",
            "verdict": f"{run.run.get_failure_code_display()}, which counts as missed",
            "measured_on": in_words(run.concluded_at or run.run.requested_at),
        }
    return {
        "name": f"run {run.run_id}",
        "verdict": run.get_decision_display().lower()
        + (", which counts as missed" if run.counts_as_missed else ""),
        "theirs": _by_customer(run),
        "ratio": ratios.measured(record.ratio),
        "interval": "none"
        if record.low is None
        else f"{ratios.measured(record.low)} to {ratios.measured(record.high)}",
        "confidence": shown_level(level(record.summary) or record.summary["confidence"]),
        "digest": record.digest,
        "measured_on": in_words(record.received_at),
    }
