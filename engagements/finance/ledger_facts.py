"""From an entry of the ledger to the business fact behind it, and its documents."""

from __future__ import annotations

from datetime import date

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.documents.models import Document
from engagements.documents.registry import Subject
from engagements.ledger.models import Entry


def subject_of(entry: Entry) -> Subject | None:
    """What an entry is about, by its key, which is kind:noun:pk[:act]; None for any other key."""
    try:
        return Subject.read(entry.key.partition(":")[2])
    except ValueError:
        return None


def invoice_of(subject: Subject) -> Invoice | None:
    """The invoice or credit note of a subject, or the invoice that a payment came in for."""
    if subject.noun == "invoice":
        return Invoice.objects.filter(pk=subject.pk).first()
    if subject.noun == "payment":
        return Invoice.objects.filter(payments=subject.pk).first()
    return None


def documents_of(entry: Entry) -> list[Document]:
    """The documents that were issued about the same subject, and the entry's own."""
    subject = subject_of(entry)
    found = [entry.document] if entry.document else []
    if subject is None:
        return found
    about = Document.objects.filter(
        engagement=entry.engagement_id, subject=f"{subject.noun}:{subject.pk}"
    )
    return [*found, *(row for row in about.defer("content") if row.pk != entry.document_id)]


def names_between(first: date, last: date) -> dict[str, str]:
    """By which number the facts of these days are known on paper, by their subjects."""
    invoices = Invoice.objects.filter(issued_on__gte=first, issued_on__lte=last)
    # What arrived in a closed month is dated when it was learned.
    payments = Payment.objects.filter(received_on__lte=last, recorded_at__date__gte=first)
    names = {
        f"invoice:{pk}": reference for pk, reference in invoices.values_list("pk", "reference")
    }
    names |= {f"payment:{pk}": text for pk, text in payments.values_list("pk", "reference")}
    return names
