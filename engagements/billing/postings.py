"""Ledger postings of invoices, credit notes, payments and bank lines.

Idempotent, under the engagement's lock. An effect of zero posts nothing and returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal

from django.utils import timezone

from engagements.billing.bank_models import BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.common.money import quantize
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.ledger import chart, effects, posting
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import Positions, positions_of, positions_of_charge
from engagements.ledger.posting import LegDraft, post_effect

NOTHING = Decimal(0)


def invoice_issued(invoice: Invoice, *, document: Document | None = None) -> Entry | None:
    """Debit the gross to receivables."""
    position = position_of(invoice)
    if invoice.charge_id:
        effect = effects.charged(net=invoice.net, tax=invoice.tax)
    else:
        effect = effects.billed(
            position, net=invoice.net, tax=invoice.tax, is_earned=_is_earned(invoice.engagement)
        )
    key = f"{Entry.Kind.INVOICE_ISSUED}:invoice:{invoice.pk}"
    return post_effect(
        invoice.engagement, position, effect, key=key, dated_on=_issued_on(invoice), about=document
    )


def credit_note_issued(
    note: Invoice,
    *,
    audit: Decimal = NOTHING,
    billed_again: Decimal = NOTHING,
    document: Document | None = None,
) -> Entry | None:
    """Reduce receivables by a credit note.

    Once the fee is earned, `audit` (net) reduces the audit's revenue, and `billed_again` none.
    """
    position = position_of(note)
    if note.charge_id:
        effect = effects.charged(net=-note.net, tax=-note.tax)
    elif not _is_earned(note.engagement):
        effect = effects.credited(position, net=note.net, tax=note.tax)
    else:
        effect = effects.credited_after_met(
            position, net=note.net, tax=note.tax, audit=audit, billed_again=billed_again
        )
    key = f"{Entry.Kind.CREDIT_NOTE_ISSUED}:invoice:{note.pk}"
    return post_effect(
        note.engagement, position, effect, key=key, dated_on=_issued_on(note), about=document
    )


def position_of(invoice: Invoice) -> Positions:
    """The positions from which a posting about an invoice is computed."""
    if invoice.charge_id:
        return positions_of_charge(invoice.currency)
    return positions_of(invoice.engagement, invoice.currency)


EARNED = ("engagement.met", "engagement.terminated")


def _is_earned(engagement: Engagement) -> bool:
    # The ledger has no entry of a target that was met when nothing was left to recognise.
    verbs = (*EARNED, "engagement.missed", "engagement.resumed")
    last = engagement.events.filter(verb__in=verbs).order_by("position").last()
    return last is not None and last.verb in EARNED


def payment_received(payment: Payment) -> Entry | None:
    """Post a payment received, in another currency against the exchange position."""
    is_exchanged = payment.bank_amount is not None
    act = effects.received_in_another_currency if is_exchanged else effects.received
    return _post_payment(payment, Entry.Kind.PAYMENT_RECEIVED, act)


def payment_moved(payment: Payment) -> Entry | None:
    """Post one side of an overpayment moved to another invoice."""
    act = effects.moved_in if payment.amount > 0 else effects.moved_out
    return _post_payment(payment, Entry.Kind.PAYMENT_MOVED, act)


def payment_paid_back(payment: Payment) -> Entry | None:
    """Post an overpayment being refunded."""
    return _post_payment(payment, Entry.Kind.PAYMENT_PAID_BACK, effects.paid_back)


def payment_reversed(payment: Payment) -> Entry | None:
    """Post a reversed payment: in suspense against its bank line or that of the chargeback.

    In another currency, against the exchange position.
    """
    assert payment.moved_from is not None  # the payment that it reverses
    is_exchanged = payment.moved_from.bank_amount is not None
    act = effects.reversed_in_another_currency if is_exchanged else effects.reversed_payment
    return _post_payment(payment, Entry.Kind.PAYMENT_REVERSED, act)


def payment_came_back(payment: Payment) -> Entry | None:
    """Post an overpayment refund that the bank returned."""
    return _post_payment(payment, Entry.Kind.PAYMENT_CAME_BACK, effects.came_back)


def _post_payment(
    payment: Payment, kind: Entry.Kind, act: Callable[[Positions, Decimal], Effect]
) -> Entry | None:
    """Date it on the value date, or today if that month is closed."""
    invoice = payment.invoice
    position = position_of(invoice)
    effect, day = act(position, abs(payment.amount)), posting.open_day(payment.received_on)
    key = f"{kind}:payment:{payment.pk}"
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=day)


LOSS_ACCOUNTS = {
    WriteOff.Kind.BANK_CHARGES: chart.BANK_CHARGES,
    WriteOff.Kind.EXCHANGE: chart.EXCHANGE,
    WriteOff.Kind.WITHHOLDING: chart.WITHHOLDING,
}


def written_off(row: WriteOff) -> Entry | None:
    """Post a write-off, dated on the day it was decided, to the account of its kind.

    Bad debt reduces the output tax too.
    """
    invoice = row.invoice
    position = position_of(invoice)
    if row.kind == WriteOff.Kind.BAD_DEBT:
        tax = quantize(row.amount * invoice.tax / invoice.gross, invoice.currency)
        effect = effects.bad_debt(position, net=row.amount - tax, tax=tax)
    else:
        account = LOSS_ACCOUNTS[WriteOff.Kind(row.kind)]
        effect = effects.moved(row.amount, source=chart.RECEIVABLES, to=account)
    key = f"{Entry.Kind.WRITTEN_OFF}:write_off:{row.pk}"
    day = timezone.localdate(row.decided_at)
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=day)


def write_off_reversed(row: WriteOff) -> Entry | None:
    """Post the opposite of a write-off's entry."""
    invoice = row.invoice
    entry = Entry.objects.get(key=f"{Entry.Kind.WRITTEN_OFF}:write_off:{row.pk}")
    effect = {leg.account.code: -leg.amount for leg in entry.legs.select_related("account")}
    position = position_of(invoice)
    key = f"{Entry.Kind.WRITE_OFF_REVERSED}:write_off:{row.pk}"
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=timezone.localdate())


def bank_line_exchanged(line: BankLine) -> Entry:
    """Clear the suspense of a line in another currency than its invoice."""
    return _post_line(line, Entry.Kind.EXCHANGED, chart.EXCHANGE_POSITION, chart.SUSPENSE)


def bank_line_exchange_undone(line: BankLine) -> Entry:
    """Put a line in another currency into suspense again: its payment was reversed."""
    return _post_line(line, Entry.Kind.EXCHANGED, chart.SUSPENSE, chart.EXCHANGE_POSITION)


def bank_lines_imported(lines: Iterable[BankLine]) -> None:
    """Post each line of a bank file at the bank, against suspense, on its value date."""
    posting.post_many(
        kind=Entry.Kind.BANK_LINE,
        effects=[
            (
                f"{Entry.Kind.BANK_LINE}:bank_line:{line.pk}",
                line.valued_on,
                line.currency,
                effects.bank_line(line.amount),
            )
            for line in lines
        ],
    )


def bank_line_set_aside(line: BankLine) -> Entry:
    """Clear a line's suspense: the tax adviser books it."""
    return _post_line(line, Entry.Kind.BANK_LINE_CLEARED, chart.OUTSIDE, chart.SUSPENSE)


def bank_line_taken_up(line: BankLine) -> Entry:
    """Put a line that was set aside into suspense again."""
    return _post_line(line, Entry.Kind.BANK_LINE_REOPENED, chart.SUSPENSE, chart.OUTSIDE)


def _post_line(line: BankLine, kind: Entry.Kind, source: str, to: str) -> Entry:
    """Move a line's amount between two accounts; it may happen more than once."""
    stem = f"{kind}:bank_line:{line.pk}"
    count = Entry.objects.filter(key__startswith=f"{stem}:").count()
    return posting.post(
        engagement=None,
        kind=kind,
        dated_on=posting.open_day(line.valued_on),
        legs=[
            LegDraft(account, amount, line.currency)
            for account, amount in effects.moved(line.amount, source=source, to=to).items()
        ],
        key=f"{stem}:{count + 1}",
    )


def _issued_on(invoice: Invoice) -> date:
    if invoice.issued_on is None:
        raise ValueError(f"{invoice} is a draft; only issued documents are posted.")
    return invoice.issued_on
