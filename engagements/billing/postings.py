"""Ledger postings of invoices, credit notes and payments.

The caller holds the engagement's lock; a repeated call posts once; an effect of zero posts
nothing and returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.documents.models import Document
from engagements.ledger import effects, posting
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import Positions, positions_of
from engagements.ledger.posting import post_effect


def invoice_issued(invoice: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes the gross."""
    position = positions_of(invoice.engagement, invoice.currency)
    is_met = Entry.objects.filter(
        engagement=invoice.engagement, kind=Entry.Kind.TARGET_MET
    ).exists()
    effect = effects.billed(position, net=invoice.net, tax=invoice.tax, is_met=is_met)
    key = f"{Entry.Kind.INVOICE_ISSUED}:invoice:{invoice.pk}"
    return post_effect(
        invoice.engagement, position, effect, key=key, dated_on=_issued_on(invoice), about=document
    )


def credit_note_issued(note: Invoice, *, document: Document | None = None) -> Entry | None:
    """The customer owes less, or gets it back."""
    position = positions_of(note.engagement, note.currency)
    effect = effects.credited(position, net=note.net, tax=note.tax)
    key = f"{Entry.Kind.CREDIT_NOTE_ISSUED}:invoice:{note.pk}"
    return post_effect(
        note.engagement, position, effect, key=key, dated_on=_issued_on(note), about=document
    )


def payment_received(payment: Payment) -> Entry | None:
    """Money is in the bank."""
    return _post_payment(payment, Entry.Kind.PAYMENT_RECEIVED, effects.received)


def payment_moved(payment: Payment) -> Entry | None:
    """Money left an engagement for another's invoice, or arrived at it from there."""
    act = effects.moved_in if payment.amount > 0 else effects.moved_out
    return _post_payment(payment, Entry.Kind.PAYMENT_MOVED, act)


def payment_paid_back(payment: Payment) -> Entry | None:
    """Money beyond an invoice is on its way back."""
    return _post_payment(payment, Entry.Kind.PAYMENT_PAID_BACK, effects.paid_back)


def payment_came_back(payment: Payment) -> Entry | None:
    """The bank did not make that transfer."""
    return _post_payment(payment, Entry.Kind.PAYMENT_CAME_BACK, effects.came_back)


def _post_payment(
    payment: Payment, kind: Entry.Kind, act: Callable[[Positions, Decimal], Effect]
) -> Entry | None:
    """Dated on the day that it arrived or left, or today where that month is closed."""
    invoice = payment.invoice
    position = positions_of(invoice.engagement, invoice.currency)
    effect, day = act(position, abs(payment.amount)), posting.open_day(payment.received_on)
    key = f"{kind}:payment:{payment.pk}"
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=day)


def _issued_on(invoice: Invoice) -> date:
    if invoice.issued_on is None:
        raise ValueError(f"{invoice} is a draft: only what is issued is posted.")
    return invoice.issued_on
