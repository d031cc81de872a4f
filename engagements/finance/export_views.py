"""Export the ledger as CSV or DATEV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import cell
from engagements.contracts.models import ContractVersion
from engagements.finance.ledger_views import LEG_COLUMNS, leg_cells
from engagements.ledger import datev, posting
from engagements.ledger import queries as ledger
from engagements.ledger.datev import Voucher
from engagements.ledger.forms import ExportForm
from engagements.ledger.models import Leg
from engagements.page_access import finance_page

CHUNK = 2000


@finance_page
@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """The export form; with valid parameters, the file."""
    months = ledger.months()
    currencies = sorted({row.currency for row in ledger.trial_balance()})
    initial = {"first": months[0], "last": months[0]} if months else {}
    form = ExportForm(request.GET or None, currencies=currencies, initial=initial)
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        legs = ledger.legs_between(data["first"], data["last_day"], currency=data["currency"])
        if data["format"] == ExportForm.CSV:
            return _csv(data, legs.iterator(CHUNK))
        batch = _batch(data)
        reason = datev.blocking_reason(batch)
        if not reason:
            return _datev(batch, legs.iterator(CHUNK))
        form.add_error(None, reason)
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "ledger/export.html", {"form": form}, status=status)


class _Echo:
    """A file for csv.writer that returns each line."""

    def write(self, line: str) -> str:
        return line


def _csv(data: dict[str, Any], legs: Iterator[Leg]) -> StreamingHttpResponse:
    writer = csv.writer(_Echo())

    def lines() -> Iterator[str]:
        yield writer.writerow(LEG_COLUMNS)
        for leg in legs:
            yield writer.writerow(map(cell, leg_cells(leg)))

    name = f"ledger-{data['first']:%Y-%m}-{data['last']:%Y-%m}.csv"
    return _download(lines(), name, "text/csv; charset=utf-8")


def _batch(data: dict[str, Any]) -> datev.Batch:
    return datev.Batch(
        adviser_number=data["adviser_number"],
        client_number=data["client_number"],
        first=data["first"],
        last=data["last_day"],
        currency=data["currency"],
        made_at=timezone.localtime(),
        is_final=posting.is_closed(data["last_day"]),
        chart=data["chart"] or datev.SKR04,
    )


def _datev(batch: datev.Batch, legs: Iterator[Leg]) -> StreamingHttpResponse:
    vouchers = vouchers_between(batch.first, batch.last)
    name = f"EXTF_Twofold_{batch.first:%Y-%m}_{batch.last:%Y-%m}_{batch.currency}.csv"
    return _download(datev.lines(batch, legs, vouchers), name, "text/csv; charset=windows-1252")


def _download(lines: Any, name: str, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def vouchers_between(first: date, last: date) -> dict[str, Voucher]:
    """Map the subjects of these dates to their documents.

    Payments and write-offs of an invoice, and its credit notes, have its number: by that DATEV
    clears open items.
    """
    invoices = Invoice.objects.filter(issued_on__gte=first, issued_on__lte=last).select_related(
        "corrects", "contract_version", "audit_order", "customer"
    )
    found = {f"invoice:{row.pk}": _invoice_voucher(row) for row in invoices}
    # Payments of a closed month are posted on the day they were recorded.
    payments = Payment.objects.filter(received_on__lte=last, recorded_at__date__gte=first)
    found |= {
        f"payment:{row.pk}": Voucher(number=row.invoice.reference)
        for row in payments.select_related("invoice")
    }
    losses = WriteOff.objects.filter(proposed_at__date__lte=last)
    found |= {
        f"write_off:{row.pk}": replace(_invoice_voucher(row.invoice), due_on=None)
        for row in losses.select_related("invoice__contract_version", "invoice__customer")
    }
    return found


def _invoice_voucher(row: Invoice) -> Voucher:
    terms = row.terms
    is_reversed = terms.tax_treatment == ContractVersion.TaxTreatment.REVERSE_CHARGE
    return Voucher(
        number=row.corrects.reference if row.corrects else row.reference,
        second=row.reference if row.corrects else "",
        due_on=row.due_on,
        tax_rate=terms.tax_rate_percent,
        eu_vat_id=row.customer.vat_id if is_reversed else "",
    )
