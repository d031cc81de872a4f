"""Pages of invoices and credit notes: list, detail, issue, discard."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import (
    credit_note_drafts,
    e_invoice,
    e_invoice_views,
    invoice_facts,
    invoices,
)
from engagements.billing import queries as billing
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, query_of
from engagements.common.tables import amounts, as_csv
from engagements.finance import invoice_queries
from engagements.page_access import finance_page
from engagements.payouts.queries import open_overpayment_refunds, overpaid_invoices, payments_for

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

PER_PAGE = 50
COLUMNS = (
    *("Number", "Customer", "Engagement", "Issued on", "Due on", "Currency"),
    *("Net", "Tax", "Gross", "Credited", "Received", "Open"),
)


@finance_page
@require_safe
def invoice_list(request: HttpRequest) -> HttpResponse:
    """Issued invoices: `q` searches, `status` filters, `format=csv` downloads."""
    status, text = request.GET.get("status", ""), request.GET.get("q", "").strip()
    found = invoice_queries.found_invoices(today=timezone.localdate(), text=text, status=status)
    if request.GET.get("format") == "csv":
        return as_csv("invoices", COLUMNS, (_cells(row) for row in found.iterator()))
    context = {
        "listed": Paginator(found, PER_PAGE).get_page(request.GET.get("page")),
        "text": text,
        "status": status,
        "statuses": list(invoice_queries.InvoiceStatus),
        "totals": invoice_queries.totals_by_currency(found) if status != "credit-notes" else [],
        "query": query_of(request),
        "today": timezone.localdate(),
    }
    return render(request, "billing/invoices.html", context)


def _cells(row: InvoiceWithBalance) -> tuple[Any, ...]:
    return (
        row.reference,
        row.customer.name,
        row.engagement.reference,
        row.issued_on,
        row.due_on,
        row.currency,
        *amounts(row.currency, row.net, row.tax, row.gross),
        *amounts(row.currency, row.credited, row.received, _open(row)),
    )


def _open(row: InvoiceWithBalance) -> Decimal:
    """The open amount; negative for an overpayment."""
    return row.amount_due if row.amount_due or row.is_settled or row.is_held else row.open_amount


@finance_page
@require_safe
def invoice_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A draft's preview, or an issued invoice with its payments and credit notes."""
    return _page(request, access.invoice_for(request.user, pk))


@finance_page
@require_POST
def issue(request: HttpRequest, pk: int) -> HttpResponse:
    """Issue a draft as shown."""
    draft = access.invoice_for(request.user, pk)
    try:
        issued = invoices.issue(
            invoice=draft, by=actor(request), expected_version=request.POST.get("version")
        )
    except ApplicationError as error:
        return _page(request, draft, error=error)
    messages.success(request, f"{issued.reference} issued. Its PDF is being rendered.")
    return redirect("invoice", pk=pk)


@finance_page
@require_POST
def purchase_order(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the customer's order number on a draft."""
    draft = access.invoice_for(request.user, pk)
    try:
        invoices.set_purchase_order(
            invoice=draft, text=request.POST.get("purchase_order", ""), by=actor(request)
        )
    except ApplicationError as error:
        return _page(request, draft, error=error)
    return redirect("invoice", pk=pk)


@finance_page
@require_safe
def xrechnung(request: HttpRequest, pk: int) -> HttpResponse:
    """Download an issued invoice as XRechnung."""
    return e_invoice_views.xrechnung_response(access.invoice_for(request.user, pk))


@finance_page
@require_POST
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Discard a draft."""
    draft = access.invoice_for(request.user, pk)
    try:
        invoices.discard(invoice=draft, by=actor(request))
    except ApplicationError as error:
        return _page(request, draft, error=error)
    if draft.is_credit_note:
        messages.success(request, "Draft credit note discarded.")
        return redirect("invoice", pk=draft.corrects_id)
    messages.success(request, "Draft discarded. What it billed can be drafted again.")
    return redirect("to-bill")


def _page(
    request: HttpRequest, invoice: Invoice, *, error: ApplicationError | None = None
) -> HttpResponse:
    form = forms.Form(data={})
    if error:
        form.add_error(None, str(error))
    context: dict[str, Any] = {
        "invoice": balance_of(invoice),
        "engagement": invoice.engagement,
        "form": form,
        "can_edit": access.is_finance(request.user),
        "today": timezone.localdate(),
    }
    if invoice.is_issued:
        template = "billing/invoice.html"
        context |= {
            "facts": invoice.frozen,
            "lines": invoice.lines.select_related("milestone"),
            "payments": payments_for(invoice),
            "is_overpaid": overpaid_invoices().filter(pk=invoice.pk).exists()
            or open_overpayment_refunds().filter(invoice=invoice).exists(),
            "notes": invoice.credit_notes.select_related("drafted_by").order_by("pk"),
            "reminders": invoice.reminders.all(),
            "write_offs": invoice.write_offs.select_related("proposed_by", "approved_by"),
            "document": billing.document_of(invoice),
            "missing_for_xrechnung": e_invoice.missing_for_xrechnung(invoice.frozen or {}),
        }
    elif invoice.is_credit_note:
        template = "billing/credit_note_draft.html"
        context |= {
            "facts": invoice_facts.compose(invoice, list(invoice.lines.all())),
            "is_own": credit_note_drafts.is_own(invoice, by=actor(request)),
        }
    else:
        template = "billing/invoice_draft.html"
        preview = invoices.preview(invoice=invoice)
        context |= {"facts": preview.facts, "preview": preview}
    return render(request, template, context, status=UNPROCESSABLE if error else 200)
