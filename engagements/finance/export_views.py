"""Export the ledger as CSV or DATEV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import cell
from engagements.finance.ledger_views import LEG_COLUMNS, leg_cells
from engagements.finance.vouchers import vouchers_between
from engagements.ledger import datev, posting
from engagements.ledger import queries as ledger
from engagements.ledger.forms import ExportForm
from engagements.ledger.models import Account, Leg
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
        rate=data["rate"],
        digits=datev.digits_of(Account.objects.all()),
    )


def _datev(batch: datev.Batch, legs: Iterator[Leg]) -> StreamingHttpResponse:
    vouchers = vouchers_between(batch.first, batch.last)
    name = f"EXTF_Twofold_{batch.first:%Y-%m}_{batch.last:%Y-%m}_{batch.currency}.csv"
    return _download(datev.lines(batch, legs, vouchers), name, "text/csv; charset=windows-1252")


def _download(lines: Any, name: str, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
