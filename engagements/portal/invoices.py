"""Invoices and the customer's account of an engagement."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing import e_invoice, e_invoice_views
from engagements.billing import queries as billing
from engagements.engagement.models import Engagement
from engagements.page_access import portal_page
from engagements.payouts.queries import overpaid_amount
from engagements.settlements import customer_accounts

PER_PAGE = 50


@portal_page
@require_safe
def xrechnung(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Download an invoice of one engagement as XRechnung."""
    invoice = access.invoice_for(request.user, pk)
    if invoice.engagement.reference != reference:
        raise Http404("No such invoice.")
    return e_invoice_views.xrechnung_response(invoice)


@portal_page
@require_safe
def all_invoices(request: HttpRequest) -> HttpResponse:
    """List the issued invoices of all engagements, newest first."""
    found = billing.invoices_of_all(access.engagements_for(request.user))
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {"listed": listed, "today": timezone.localdate()}
    return render(request, "portal/invoices.html", context)


@portal_page
@require_safe
def invoices(request: HttpRequest, reference: str) -> HttpResponse:
    """List the invoices of an engagement with their PDFs, and its account."""
    engagement = access.engagement_for(request.user, reference)
    found = list(billing.invoices_of(engagement))
    asked = sum((invoice.amount_due for invoice in found), Decimal(0))
    accounts = customer_accounts.accounts_of(Engagement.objects.filter(pk=engagement.pk))
    documents = billing.documents_by_subject(engagement)
    rows = [
        {
            "invoice": invoice,
            "too_much": None if invoice.is_settled else overpaid_amount(invoice),
            "document": documents.get(f"invoice:{invoice.pk}"),
            "has_xrechnung": not e_invoice.missing_for_xrechnung(invoice.frozen or {}),
            "notes": [
                (note, documents.get(f"invoice:{note.pk}"))
                for note in invoice.credit_notes.all()
                if note.is_issued
            ],
        }
        for invoice in found
    ]
    context = {
        "engagement": engagement,
        "rows": rows,
        "accounts": accounts,
        "today": timezone.localdate(),
        "is_settled": any(account.balance > asked for account in accounts),
        "pay_to": settings.BANK_ACCOUNT if asked else None,
    }
    return render(request, "billing/portal_invoices.html", context)
