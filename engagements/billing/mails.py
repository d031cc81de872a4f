"""Email invoices and credit notes with their PDF."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Concat
from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.common import links
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.documents.models import Document
from engagements.notifications import mails
from engagements.notifications.models import Mail
from engagements.people.models import Customer
from engagements.people.signatories import signatories_of

KINDS = (Document.Kind.INVOICE, Document.Kind.CREDIT_NOTE)
# Older documents are not mailed any more.
MAX_AGE = timedelta(days=7)


def recipients_of(customer: Customer) -> list[str]:
    """The customer's invoice address, or else its signatories."""
    if customer.invoice_email:
        return [customer.invoice_email]
    return [user.email for user in signatories_of(customer)]


def unsent() -> list[Document]:
    """Recently issued invoices and credit notes that were not mailed."""
    written = Mail.objects.filter(key=Concat(Value("document:"), OuterRef("subject")))
    issued = Document.objects.filter(
        kind__in=KINDS, issued_at__gte=timezone.now() - MAX_AGE, for_customer=True
    )
    return list(issued.filter(~Exists(written)).defer("content"))


@transaction.atomic
def write(*, document: Document) -> list[Mail]:
    """Write the mails for an invoice or credit note. Idempotent; ignores other documents."""
    if document.kind not in KINDS:
        return []
    invoice = Invoice.objects.select_related("customer", "engagement", "corrects").get(
        pk=int(document.subject.partition(":")[2])
    )
    return [
        mails.write(
            key=f"document:{document.subject}",
            engagement=invoice.engagement,
            recipient=recipient,
            subject=f"{document.title}, {invoice.engagement.title}",
            body=f"{_body(invoice)}\n{portal_link(invoice)}\n",
            document=document,
        )
        for recipient in recipients_of(invoice.customer)
    ]


def portal_link(invoice: Invoice) -> str:
    """A line that links to the customer’s invoices."""
    url = links.to_page("portal-invoices", invoice.engagement.reference)
    return f"See all invoices and payments: {url}"


def _body(invoice: Invoice) -> str:
    amount = format_money(invoice.gross, invoice.currency)
    if invoice.corrects:
        return (
            f"Credit note {invoice.reference} for {amount} including tax corrects invoice "
            f"{invoice.corrects.reference}: {invoice.reason}\n\nThe PDF is attached.\n"
        )
    assert invoice.due_on is not None  # every issued invoice has a due date
    account = (invoice.frozen or {}).get("account") or settings.BANK_ACCOUNT
    return (
        f"Invoice {invoice.reference} for {amount} including tax is attached. Payment is due on "
        f"{in_words(invoice.due_on)}.\n\n"
        f"Account: {account['holder']}, {account['iban']}\n"
        f"Payment reference: {invoice.reference}\n"
    )
