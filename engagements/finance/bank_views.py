"""Bank pages: import files, choose columns, record proposals."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.billing import (
    bank_chain,
    bank_imports,
    bank_totals,
    csv_confirmations,
    reconciliation,
)
from engagements.billing.bank_files import csv_file
from engagements.billing.bank_forms import (
    BankFileForm,
    ColumnsForm,
    SetAsideForm,
)
from engagements.billing.bank_models import CONFIRMED_LINE, BankImport, BankLine
from engagements.billing.line_proposals import Proposal, proposals
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.common.tables import amounts, as_csv
from engagements.page_access import finance_page
from engagements.payouts import bank_matching
from engagements.people import second_person

PER_PAGE = 100
OPEN = BankLine.State.OPEN
COLUMNS = (
    *("Booked on", "Payer", "Account", "Text", "Entry", "Currency", "Amount", "State"),
    *("Invoices", "Note", "Handled by"),
)


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def bank(request: HttpRequest) -> HttpResponse:
    """Lines to assign, recent files, and the upload form."""
    form = BankFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        content = file.read()
        is_repeated = bank_imports.is_known(content)
        try:
            imported = bank_imports.import_file(
                filename=file.name, content=content, by=actor(request)
            )
        except ApplicationError as error:
            form.add_error("file", str(error))
        else:
            if is_repeated:
                messages.warning(request, "This file was imported before. Nothing changed.")
            else:
                _match(request, imported)
            return redirect("bank-import", pk=imported.pk)
    # Over all pages, since lines that quote the same invoice depend on each other.
    found = proposals(_open_lines().filter(amount__gt=0))
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    outgoing = _open_lines().filter(amount__lt=0)
    imports = list(BankImport.objects.defer("content").select_related("imported_by")[:10])
    totals = bank_totals.totals_of(imports)
    context = {
        "form": form,
        "listed": listed,
        "outgoing": outgoing[:PER_PAGE],
        "outgoing_count": outgoing.count(),
        "setting_aside": SetAsideForm(auto_id="id_outgoing_%s"),
        "unconfirmed": csv_confirmations.waiting(),
        "balances": bank_chain.latest_balances(),
        "proposals": [(proposal, token(proposal)) for proposal in listed],
        "has_certain": any(proposal.is_certain for proposal in listed),
        "imports": [(row, totals.get(row.pk, [])) for row in imports],
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/bank.html", context, status=status)


def _match(request: HttpRequest, imported: BankImport) -> None:
    """Match the refunds in a new file, and show what was found."""
    if imported.repeated_count is None:
        return
    outcome = bank_matching.match_import(bank_import=imported, by=actor(request))
    if outcome.matched:
        lines = "line" if outcome.matched == 1 else "lines"
        messages.success(request, f"{outcome.matched} {lines} matched with our refunds.")
    for error in outcome.errors:
        messages.error(request, error)


@finance_page
@require_POST
def record(request: HttpRequest) -> HttpResponse:
    """Record the selected proposals that are unchanged since they were shown."""
    chosen = set(request.POST.getlist("proposal"))
    found = proposals(_open_lines().filter(amount__gt=0))
    same = [proposal for proposal in found if token(proposal) in chosen]
    done, errors = reconciliation.assign_certain(proposals=same, by=actor(request))
    for error in errors:
        messages.error(request, error)
    if not chosen:
        messages.error(request, "Choose at least one line.")
    elif len(same) < len(chosen):
        messages.error(request, "Some proposals changed while you were looking; review them again.")
    if done:
        messages.success(request, f"{done} payment{'s' if done != 1 else ''} recorded.")
    return redirect("bank")


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest, pk: int) -> HttpResponse:
    """The lines of a file (`format=csv` downloads them), or the form to choose its columns."""
    row = _import_of(pk)
    if row.repeated_count is None:
        return _columns(request, row)
    lines = row.lines.select_related("handled_by").prefetch_related("payments__invoice")
    if request.GET.get("format") == "csv":
        return as_csv(f"bank-{row.pk}", COLUMNS, map(_cells, lines))
    listed = Paginator(lines, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "row": row,
        "listed": listed,
        "totals": bank_totals.totals_of([row]).get(row.pk, []),
        "statements": row.statements.filter(closing__isnull=False),
        "same_reference": bank_totals.with_known_references(row)[:PER_PAGE],
        "alike": csv_confirmations.alike_lines(row) if row.awaits_confirmation else [],
        "is_missing_second": second_person.is_missing(
            by=actor(request), others=[row.imported_by_id], subject=row.subject
        ),
        "can_edit": access.is_finance(request.user),
    }
    return render(request, "billing/bank_import.html", context)


def _cells(line: BankLine) -> tuple[Any, ...]:
    invoices = ", ".join(payment.invoice.reference for payment in line.payments.all())
    return (
        *(line.booked_on, line.payer, line.payer_account, line.text, line.entry_reference),
        *(line.currency, *amounts(line.currency, line.amount), line.get_state_display()),
        *(invoices, line.note, str(line.handled_by or "")),
    )


def _columns(request: HttpRequest, row: BankImport) -> HttpResponse:
    table = csv_file.open_table(bytes(row.content))
    form = ColumnsForm(request.POST or None, table=table, accounts=bank_chain.own_ibans())
    if request.method == "POST" and form.is_valid():
        with errors_shown(request, form):
            parsed = bank_imports.choose_columns(
                bank_import=row, layout=form.layout(), by=actor(request)
            )
            _match(request, parsed)
            return redirect("bank-import", pk=row.pk)
    context = {
        "row": row,
        "form": form,
        "columns": [{"label": name, "is_number": False} for name in table.head],
        "sample": table.sample,
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/bank_columns.html", context, status=status)


@finance_page
@require_POST
def confirm(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm the lines of a CSV as a second person, and match its refunds."""
    row = _import_of(pk)
    with errors_shown(request):
        csv_confirmations.confirm(bank_import=row, by=actor(request))
        messages.success(request, f"{row} confirmed.")
        _match(request, _import_of(pk))
    return redirect("bank-import", pk=pk)


@finance_page
@require_POST
def keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Import the lines like the one with this `key` that were left out as known."""
    row = _import_of(pk)
    with errors_shown(request):
        csv_confirmations.keep(bank_import=row, key=request.POST.get("key", ""), by=actor(request))
    return redirect("bank-import", pk=pk)


def _import_of(pk: int) -> BankImport:
    row = BankImport.objects.select_related("imported_by").filter(pk=pk).first()
    if row is None:
        raise Http404("No such bank file.")
    return row


@finance_page
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a file that was not parsed yet."""
    row = BankImport.objects.filter(pk=pk).first()
    if row is not None:
        try:
            bank_imports.delete(bank_import=row, by=actor(request))
        except ApplicationError as error:
            messages.error(request, str(error))
    return redirect("bank")


def token(proposal: Proposal) -> str:
    """A proposal as form data: the line, and the amount for each invoice."""
    parts = ";".join(f"{invoice.pk}={amount.normalize():f}" for invoice, amount in proposal.parts)
    return f"{proposal.line.pk}:{parts}"


def _open_lines() -> QuerySet[BankLine]:
    return (
        BankLine.objects.filter(CONFIRMED_LINE, state=OPEN)
        .select_related("bank_import")
        .defer("bank_import__content")
        .order_by("booked_on", "pk")
    )
