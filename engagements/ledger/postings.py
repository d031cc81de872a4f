"""What each business fact is posted as: one function a fact, called in its own transaction.

Fees received stay a refund liability until the verdict and become revenue with a met target.
The audit is revenue when it is delivered, so the first of what is billed and received covers
it. Tax has its own account throughout. The caller holds the engagement's lock; a fact that is
told twice is posted once; what comes to nothing is not posted and answers None.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from engagements.ledger import chart
from engagements.ledger.positions import positions_of
from engagements.models import Audit, ContractVersion, Document, Engagement, Entry, Invoice, Payment
from engagements.services import ledger
from engagements.services.ledger import LegDraft

Kind = Entry.Kind


def invoice_issued(invoice: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes the gross; the net is deferred, or earned where it was already."""
    position = positions_of(invoice.engagement, invoice.currency)
    audit = min(position.debit(chart.AUDIT_UNBILLED), invoice.net)
    rest = chart.FEE_REVENUE if _is_met(invoice.engagement) else chart.FEES_DEFERRED
    return _post(
        invoice.engagement,
        Kind.INVOICE_ISSUED,
        _issued_on(invoice),
        f"invoice_issued:invoice:{invoice.pk}",
        invoice.currency,
        {
            chart.RECEIVABLES: invoice.gross,
            chart.AUDIT_UNBILLED: -audit,
            rest: audit - invoice.net,
            chart.OUTPUT_TAX: -invoice.tax,
        },
        document,
    )


def credit_note_issued(note: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes less, or gets it back: the latest that was posted of it first."""
    position = positions_of(note.engagement, note.currency)
    legs = {chart.RECEIVABLES: -note.gross, chart.OUTPUT_TAX: note.tax}
    left = note.net
    for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY, chart.FEE_REVENUE):
        taken = min(position.credit(account), left)
        legs[account] = taken
        left -= taken
    # What is left had covered the audit, which is earned and not billed any more.
    legs[chart.AUDIT_UNBILLED] = left
    return _post(
        note.engagement,
        Kind.CREDIT_NOTE_ISSUED,
        _issued_on(note),
        f"credit_note_issued:invoice:{note.pk}",
        note.currency,
        legs,
        document,
    )


def payment_received(payment: Payment) -> Entry | None:
    """Money is in the bank; what of it is not the audit's might go back until the verdict.

    Dated on the day it arrived, or today where that month is closed.
    """
    contract = payment.milestone.contract_version
    engagement, currency = contract.engagement, contract.currency
    position = positions_of(engagement, currency)
    after = position.with_payment(payment.amount)
    might_go_back = max(after.received_net() - after.audit_billed, Decimal(0))
    more = might_go_back - position.credit(chart.REFUND_LIABILITY)
    moved = min(max(more, Decimal(0)), position.credit(chart.FEES_DEFERRED))
    return _post(
        engagement,
        Kind.PAYMENT_RECEIVED,
        ledger.open_day(payment.received_on),
        f"payment_received:payment:{payment.pk}",
        currency,
        {
            chart.BANK: payment.amount,
            chart.RECEIVABLES: -payment.amount,
            chart.FEES_DEFERRED: moved,
            chart.REFUND_LIABILITY: -moved,
        },
    )


def audit_delivered(audit: Audit, *, dated_on: date) -> Entry | None:
    """The audit is done and earned, billed or not."""
    return _post(
        audit.engagement,
        Kind.AUDIT_DELIVERED,
        dated_on,
        f"audit_delivered:audit:{audit.pk}",
        audit.currency,
        audit_earned(audit.engagement, audit.currency, audit.cost),
    )


def target_met(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Nothing goes back any more: what was billed so far is revenue."""
    position = positions_of(contract.engagement, contract.currency)
    deferred = position.credit(chart.FEES_DEFERRED)
    received = position.credit(chart.REFUND_LIABILITY)
    return _post(
        contract.engagement,
        Kind.TARGET_MET,
        dated_on,
        f"target_met:contract:{contract.pk}",
        contract.currency,
        {
            chart.FEES_DEFERRED: deferred,
            chart.REFUND_LIABILITY: received,
            chart.FEE_REVENUE: -deferred - received,
        },
    )


def audit_earned(engagement: Engagement, currency: str, earned: Decimal) -> dict[str, Decimal]:
    """The legs after which the audit's revenue is `earned` (net): more of it, or less."""
    position = positions_of(engagement, currency)
    left = earned - position.credit(chart.AUDIT_REVENUE)
    legs = {chart.AUDIT_REVENUE: -left}
    if left > 0:
        for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY):
            legs[account] = min(position.credit(account), left)
            left -= legs[account]
        return legs | {chart.AUDIT_UNBILLED: left}
    unbilled = min(position.debit(chart.AUDIT_UNBILLED), -left)
    return legs | {chart.AUDIT_UNBILLED: -unbilled, chart.REFUND_LIABILITY: left + unbilled}


def _is_met(engagement: Engagement) -> bool:
    return Entry.objects.filter(engagement=engagement, kind=Kind.TARGET_MET).exists()


def _issued_on(invoice: Invoice) -> date:
    if invoice.issued_on is None:
        raise ValueError(f"{invoice} is a draft: only what is issued is posted.")
    return invoice.issued_on


def _post(
    engagement: Engagement,
    kind: Entry.Kind,
    dated_on: date,
    key: str,
    currency: str,
    amounts: dict[str, Decimal],
    document: Document | None = None,
) -> Entry | None:
    """Post once: figures that depend on where the accounts stood are not worked out again."""
    known = Entry.objects.filter(key=key).first()
    if known or not any(amounts.values()):
        return known
    return ledger.post(
        engagement=engagement,
        kind=kind,
        dated_on=dated_on,
        legs=[LegDraft(account, amount, currency) for account, amount in amounts.items()],
        key=key,
        document=document,
    )
