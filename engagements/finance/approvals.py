"""Everything that waits for a second person of finance, as rows of one queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.urls import reverse

from engagements.billing import credit_note_drafts, csv_confirmations, payments, reversals
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.charges.models import Charge
from engagements.finance import closing_checklist, grants


@dataclass(frozen=True)
class Approval:
    """One row of the queue; files, months and roles have no amount."""

    label: str
    note: str
    url: str
    amount: Decimal | None = None
    currency: str = ""


def waiting() -> list[Approval]:
    """Charges, write-offs, credit notes, reversals, keyed payments, CSV files, months, roles."""
    return [
        *(*_charges(), *_write_offs(), *_credit_notes(), *_reversals(), *_payments()),
        *_bank_files(),
        *(*_months(), *_roles()),
    ]


def _charges() -> Iterator[Approval]:
    rows = Charge.objects.filter(state=Charge.State.PROPOSED).order_by("pk")
    for row in rows.select_related("engagement", "contract_version", "proposed_by"):
        step = "Termination to confirm" if row.is_termination else "Charge to approve"
        yield Approval(
            f"{row.title} of {row.engagement.reference}",
            f"{step}, proposed by {row.proposed_by}",
            reverse("charge", args=[row.pk]),
            row.amount,
            row.currency,
        )


def _write_offs() -> Iterator[Approval]:
    rows = WriteOff.objects.filter(state=WriteOff.State.PROPOSED)
    for row in rows.select_related("invoice__engagement__customer", "proposed_by"):
        invoice = row.invoice
        yield Approval(
            f"{row.get_kind_display()} on {invoice.reference}",
            f"Write-off to approve, proposed by {row.proposed_by}",
            reverse("invoice", args=[invoice.pk]),
            row.amount,
            invoice.currency,
        )


def _credit_notes() -> Iterator[Approval]:
    for row in credit_note_drafts.waiting():
        yield Approval(
            f"Credit note on {row.corrects}",
            f"Credit note to issue, drafted by {row.drafted_by}",
            reverse("invoice", args=[row.pk]),
            row.gross,
            row.currency,
        )


def _reversals() -> Iterator[Approval]:
    for row in reversals.open_reversals():
        payment = row.payment
        yield Approval(
            f"{payment.reference} on {payment.invoice.reference}",
            f"Reversal to approve, proposed by {row.proposed_by}",
            reverse("reversal", args=[row.pk]),
            payment.amount,
            payment.invoice.currency,
        )


def _payments() -> Iterator[Approval]:
    rows = payments.unconfirmed(Payment.objects.order_by("pk"))
    for row in rows.select_related("invoice", "recorded_by"):
        yield Approval(
            f"{row.reference} on {row.invoice.reference}",
            f"Payment to confirm, keyed by {row.recorded_by}",
            reverse("payment-record", args=[row.invoice_id]),
            row.amount,
            row.invoice.currency,
        )


def _bank_files() -> Iterator[Approval]:
    for row in csv_confirmations.waiting():
        note = f"CSV to confirm, imported by {row.imported_by}"
        yield Approval(row.filename, note, reverse("bank-import", args=[row.pk]))


def _months() -> Iterator[Approval]:
    for row in closing_checklist.waiting():
        note = f"Month to approve, proposed by {row.proposed_by}"
        label = str(row)
        yield Approval(label[:1].upper() + label[1:], note, reverse("ledger-close"))


def _roles() -> Iterator[Approval]:
    for row in grants.open_grants():
        note = f"Finance role to confirm, proposed by {row.proposed_by}"
        yield Approval(str(row.user), note, reverse("finance-people"))
