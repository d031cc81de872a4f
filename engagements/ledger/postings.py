"""What each business fact is posted as: one function a fact, called in its own transaction.

Fees received stay a refund liability until the verdict and become revenue with a met target.
The audit is revenue when it is delivered, so the first of what is billed and received covers
it. Tax has its own account throughout. The caller holds the engagement's lock; a fact that is
told twice is posted once; what comes to nothing is not posted and answers None.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

from django.utils import timezone

from engagements.ledger import chart, effects
from engagements.ledger.effects import Effect
from engagements.ledger.positions import Positions, positions_of
from engagements.models import (
    Audit,
    ContractVersion,
    Document,
    Engagement,
    Entry,
    Invoice,
    PayBack,
    Payment,
    Settlement,
    Transfer,
)
from engagements.services import ledger
from engagements.services.ledger import LegDraft

Kind = Entry.Kind


def invoice_issued(invoice: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes the gross."""
    position = positions_of(invoice.engagement, invoice.currency)
    is_met = Entry.objects.filter(engagement=invoice.engagement, kind=Kind.TARGET_MET).exists()
    effect = effects.billed(position, net=invoice.net, tax=invoice.tax, is_met=is_met)
    key = f"{Kind.INVOICE_ISSUED}:invoice:{invoice.pk}"
    return _post(
        invoice.engagement, position, effect, key=key, dated_on=_issued_on(invoice), about=document
    )


def credit_note_issued(note: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes less, or gets it back."""
    position = positions_of(note.engagement, note.currency)
    effect = effects.credited(position, net=note.net, tax=note.tax)
    key = f"{Kind.CREDIT_NOTE_ISSUED}:invoice:{note.pk}"
    return _post(
        note.engagement, position, effect, key=key, dated_on=_issued_on(note), about=document
    )


def payment_received(payment: Payment) -> Entry | None:
    """Money is in the bank."""
    return _post_payment(payment, Kind.PAYMENT_RECEIVED, effects.received)


def payment_moved(payment: Payment) -> Entry | None:
    """Money left an engagement for another's invoice, or arrived at it from there."""
    act = effects.moved_in if payment.amount > 0 else effects.moved_out
    return _post_payment(payment, Kind.PAYMENT_MOVED, act)


def payment_paid_back(payment: Payment) -> Entry | None:
    """Money beyond an invoice is on its way back."""
    return _post_payment(payment, Kind.PAYMENT_PAID_BACK, effects.paid_back)


def payment_came_back(payment: Payment) -> Entry | None:
    """The bank did not make that transfer."""
    return _post_payment(payment, Kind.PAYMENT_CAME_BACK, effects.came_back)


def pay_back_paid(pay_back: PayBack) -> Entry | None:
    """The bank has made the transfer of what was too much."""
    invoice = pay_back.invoice
    position = positions_of(invoice.engagement, invoice.currency)
    effect = effects.transferred(pay_back.amount)
    key = f"{Kind.PAY_BACK_PAID}:pay_back:{pay_back.pk}"
    return _post(invoice.engagement, position, effect, key=key, dated_on=timezone.localdate())


def audit_delivered(audit: Audit, *, dated_on: date) -> Entry | None:
    """The audit is done and earned, billed or not."""
    position = positions_of(audit.engagement, audit.currency)
    effect = effects.audit_earned(position, audit.cost)
    key = f"{Kind.AUDIT_DELIVERED}:audit:{audit.pk}"
    return _post(audit.engagement, position, effect, key=key, dated_on=dated_on)


def audit_waived(audit: Audit) -> Entry | None:
    """Its engagement was cancelled, or it led to no contract: nobody owes it any more."""
    position = positions_of(audit.engagement, audit.currency)
    effect = effects.audit_earned(position, Decimal(0))
    key = f"{Kind.AUDIT_WAIVED}:audit:{audit.pk}"
    return _post(audit.engagement, position, effect, key=key, dated_on=timezone.localdate())


def target_met(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Nothing goes back any more."""
    position = positions_of(contract.engagement, contract.currency)
    key = f"{Kind.TARGET_MET}:contract:{contract.pk}"
    return _post(contract.engagement, position, effects.met(position), key=key, dated_on=dated_on)


def settlement_proposed(settlement: Settlement) -> Entry | None:
    """What the settlement keeps of the audit is what was earned with it."""
    position = _position(settlement)
    effect = effects.audit_earned(position, settlement.audit_cost)
    return _post_settlement(settlement, Kind.SETTLEMENT_PROPOSED, position, effect)


def settlement_approved(settlement: Settlement) -> Entry | None:
    """What the customer has to its credit is to be paid."""
    effect = effects.moved(settlement.refund, source=chart.REFUND_PAYABLE, to=chart.RECEIVABLES)
    return _post_settlement(settlement, Kind.SETTLEMENT_APPROVED, _position(settlement), effect)


def settlement_paying(transfer: Transfer) -> Entry | None:
    """The transfer is with the bank: the money counts as gone."""
    effect = effects.moved(transfer.amount, source=chart.TRANSFERS, to=chart.REFUND_PAYABLE)
    return _post_transfer(transfer, Kind.SETTLEMENT_PAYING, effect)


def settlement_failed(transfer: Transfer) -> Entry | None:
    """The bank did not make the transfer: the money is to be paid again."""
    effect = effects.moved(transfer.amount, source=chart.REFUND_PAYABLE, to=chart.TRANSFERS)
    return _post_transfer(transfer, Kind.SETTLEMENT_FAILED, effect)


def settlement_paid(transfer: Transfer) -> Entry | None:
    """The bank has made the transfer."""
    effect = effects.transferred(transfer.amount)
    return _post_transfer(transfer, Kind.SETTLEMENT_PAID, effect)


def settlement_voided(settlement: Settlement) -> Entry | None:
    """Nothing is to be paid, and the audit is earned as the contract has it."""
    position = _position(settlement)
    effect = dict(effects.audit_earned(position, settlement.contract_version.audit_cost))
    if settlement.approved_at is not None:
        agreed = effects.moved(settlement.refund, source=chart.RECEIVABLES, to=chart.REFUND_PAYABLE)
        effect |= agreed
    return _post_settlement(settlement, Kind.SETTLEMENT_VOIDED, position, effect)


def _position(settlement: Settlement) -> Positions:
    return positions_of(settlement.contract_version.engagement, settlement.currency)


def _post_payment(
    payment: Payment, kind: Entry.Kind, act: Callable[[Positions, Decimal], Effect]
) -> Entry | None:
    """Dated on the day that it arrived or left, or today where that month is closed."""
    invoice = payment.invoice
    position = positions_of(invoice.engagement, invoice.currency)
    effect, day = act(position, abs(payment.amount)), ledger.open_day(payment.received_on)
    key = f"{kind}:payment:{payment.pk}"
    return _post(invoice.engagement, position, effect, key=key, dated_on=day)


def _post_settlement(
    settlement: Settlement, kind: Entry.Kind, position: Positions, effect: Effect
) -> Entry | None:
    engagement = settlement.contract_version.engagement
    key = f"{kind}:settlement:{settlement.pk}"
    return _post(engagement, position, effect, key=key, dated_on=timezone.localdate())


def _post_transfer(transfer: Transfer, kind: Entry.Kind, effect: Effect) -> Entry | None:
    settlement = transfer.settlement
    key = f"{kind}:settlement:{settlement.pk}:{transfer.attempt}"
    engagement, day = settlement.contract_version.engagement, timezone.localdate()
    return _post(engagement, _position(settlement), effect, key=key, dated_on=day)


def _issued_on(invoice: Invoice) -> date:
    if invoice.issued_on is None:
        raise ValueError(f"{invoice} is a draft: only what is issued is posted.")
    return invoice.issued_on


def _post(
    engagement: Engagement,
    position: Positions,
    effect: Effect,
    *,
    key: str,
    dated_on: date,
    about: Document | None = None,
) -> Entry | None:
    """Post once: figures that depend on where the accounts stood are not worked out again."""
    known = Entry.objects.filter(key=key).first()
    if known or not any(effect.values()):
        return known
    return ledger.post(
        engagement=engagement,
        kind=key.partition(":")[0],
        dated_on=dated_on,
        legs=[LegDraft(account, amount, position.currency) for account, amount in effect.items()],
        key=key,
        document=about,
    )
