"""Invoices and credit notes by mail, with the PDF, once it is made."""

from __future__ import annotations

from datetime import timedelta

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
# What was issued earlier is no news.
IS_NEWS_FOR = timedelta(days=7)


def recipients_of(customer: Customer) -> list[str]:
    """Where a customer's invoices go: its own address for them, else those who may sign."""
    if customer.invoice_email:
        return [customer.invoice_email]
    return [user.email for user in signatories_of(customer)]


def unsent() -> list[Document]:
    """The invoices and credit notes issued lately of which no mail was written."""
    written = Mail.objects.filter(key=Concat(Value("document:"), OuterRef("subject")))
    issued = Document.objects.filter(
        kind__in=KINDS, issued_at__gte=timezone.now() - IS_NEWS_FOR, for_customer=True
    )
    return list(issued.filter(~Exists(written)).defer("content"))


@transaction.atomic
def write(*, document: Document) -> list[Mail]:
    """Write the mails that take an invoice to its customer; a second time nothing changes.

    Any other document is mailed to nobody.
    """
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
            body=f"{_body(invoice)}\n{in_the_portal(invoice)}\n",
            document=document,
        )
        for recipient in recipients_of(invoice.customer)
    ]


def in_the_portal(invoice: Invoice) -> str:
    """Where the customer sees what was asked for and what arrived."""
    where = links.to_page("portal-invoices", invoice.engagement.reference)
    return f"All invoices and payments: {where}"


def _body(invoice: Invoice) -> str:
    amount = format_money(invoice.gross, invoice.currency)
    if invoice.corrects:
        return (
            f"Credit note {invoice.reference} over {amount} with tax corrects invoice "
            f"{invoice.corrects.reference}: {invoice.reason}\n\nIt is attached.\n"
        )
    assert invoice.due_on is not None  # an issued invoice falls due
    return (
        f"Invoice {invoice.reference} over {amount} with tax is attached. It is due on "
        f"{in_words(invoice.due_on)}; please quote {invoice.reference} when you pay.\n"
    )
