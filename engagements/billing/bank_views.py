"""Bank files: taken in, their columns explained, their money assigned."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import bank_imports, bank_lines
from engagements.billing.bank_files import csv_file
from engagements.billing.bank_forms import AssignForm, BankFileForm, ColumnsForm, SetAsideForm
from engagements.billing.matching import Proposal, candidates, proposals
from engagements.billing.payment_models import BankImport, BankLine
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import amounts, as_csv

PER_PAGE = 100
OPEN = BankLine.State.OPEN
COLUMNS = (
    *("Booked on", "Payer", "Account", "Text", "Entry", "Currency", "Amount", "State"),
    *("Invoices", "Note", "Handled by"),
)


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def bank(request: HttpRequest) -> HttpResponse:
    """Money that waits to be assigned, the files it came from, and handing in another."""
    form = BankFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            taken = bank_imports.take_in(filename=file.name, content=file.read(), by=actor(request))
        except ApplicationError as refused:
            form.add_error("file", str(refused))
        else:
            return redirect("bank-import", pk=taken.pk)
    # Of all lines: two that quote the same invoice know of each other on whatever page they are.
    found = proposals(_open_lines())
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "form": form,
        "listed": listed,
        "proposals": [(proposal, token(proposal)) for proposal in listed],
        "has_certain": any(proposal.is_certain for proposal in listed),
        "imports": BankImport.objects.defer("content").select_related("imported_by")[:10],
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/bank.html", context, status=status)


@access.finance_page
@require_POST
def record(request: HttpRequest) -> HttpResponse:
    """Record the proposals that were chosen, as they were shown; others have changed since."""
    chosen = set(request.POST.getlist("proposal"))
    found = proposals(_open_lines())
    same = [proposal for proposal in found if token(proposal) in chosen]
    done, refusals = bank_lines.assign_certain(proposals=same, by=actor(request))
    for refusal in refusals:
        messages.error(request, refusal)
    if not chosen:
        messages.error(request, "Choose at least one line.")
    elif len(same) < len(chosen):
        messages.error(request, "Something has changed since you looked: look at what is left.")
    if done:
        messages.success(request, f"{done} recorded.")
    return redirect("bank")


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest, pk: int) -> HttpResponse:
    """What a file brought; before that, which of its columns mean what.

    `format=csv` downloads what it brought.
    """
    row = BankImport.objects.select_related("imported_by").filter(pk=pk).first()
    if row is None:
        raise Http404("No such bank file.")
    if row.repeated_count is None:
        return _columns(request, row)
    lines = row.lines.select_related("handled_by").prefetch_related("payments__invoice")
    if request.GET.get("format") == "csv":
        return as_csv(f"bank-{row.pk}", COLUMNS, map(_cells, lines))
    listed = Paginator(lines, PER_PAGE).get_page(request.GET.get("page"))
    context = {"row": row, "listed": listed}
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
    form = ColumnsForm(request.POST or None, table=table)
    if request.method == "POST" and form.is_valid():
        try:
            bank_imports.choose_columns(bank_import=row, layout=form.layout(), by=actor(request))
        except ApplicationError as refused:
            form.add_error(None, str(refused))
        else:
            return redirect("bank-import", pk=row.pk)
    context = {
        "row": row,
        "form": form,
        "columns": [{"label": name, "is_number": False} for name in table.head],
        "sample": table.sample,
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "billing/bank_columns.html", context, status=status)


@access.finance_page
@require_POST
def drop(request: HttpRequest, pk: int) -> HttpResponse:
    """Throw a file away that was not read yet."""
    row = BankImport.objects.filter(pk=pk).first()
    if row is not None:
        try:
            bank_imports.drop(bank_import=row, by=actor(request))
        except ApplicationError as refused:
            messages.error(request, str(refused))
    return redirect("bank")


@access.finance_page
@require_safe
def line_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One line: where its money went, or where it may go."""
    return _line(request, _line_of(pk))


@access.finance_page
@require_POST
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign a line's money by hand."""
    line = _line_of(pk)
    invoices = {row.pk: row for row in candidates(line)}
    form = _assign_form(line, request)
    if form.is_valid():
        parts = [(invoices[key], amount) for key, amount in form.parts()]
        try:
            bank_lines.assign(line=line, parts=parts, by=actor(request))
        except ApplicationError as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, f"{format_money(line.amount, line.currency)} is assigned.")
            return redirect("bank")
    return _line(request, _line_of(pk), assigning=form)


@access.finance_page
@require_POST
def set_aside(request: HttpRequest, pk: int) -> HttpResponse:
    """Say why a line is for no invoice."""
    line, form = _line_of(pk), SetAsideForm(request.POST)
    if form.is_valid():
        try:
            bank_lines.set_aside(line=line, note=form.cleaned_data["note"], by=actor(request))
        except ApplicationError as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, "It is set aside.")
            return redirect("bank")
    return _line(request, _line_of(pk), leaving=form)


def token(proposal: Proposal) -> str:
    """A proposal as a page sends it back: line, and how much to which invoice."""
    parts = ";".join(f"{invoice.pk}={amount.normalize():f}" for invoice, amount in proposal.parts)
    return f"{proposal.line.pk}:{parts}"


def _open_lines() -> list[BankLine]:
    return list(
        BankLine.objects.filter(state=OPEN)
        .select_related("bank_import")
        .defer("bank_import__content")
        .order_by("booked_on", "pk")
    )


def _line_of(pk: int) -> BankLine:
    line = (
        BankLine.objects.select_related("bank_import", "handled_by")
        .defer("bank_import__content")
        .filter(pk=pk)
        .first()
    )
    if line is None:
        raise Http404("No such line.")
    return line


def _assign_form(line: BankLine, request: HttpRequest | None = None) -> AssignForm:
    choices = [
        (row.pk, f"{row.reference}, {row.customer}, {format_money(row.amount_due, row.currency)}")
        for row in candidates(line)
    ]
    initial: dict[str, object] = {"amount_1": line.amount}
    [proposal] = proposals([line])
    for number, (invoice, amount) in enumerate(proposal.parts[:4], start=1):
        initial |= {f"invoice_{number}": invoice.pk, f"amount_{number}": amount}
    data = request.POST if request else None
    return AssignForm(data, currency=line.currency, invoices=choices, initial=initial)


def _line(
    request: HttpRequest,
    line: BankLine,
    *,
    assigning: AssignForm | None = None,
    leaving: forms.Form | None = None,
) -> HttpResponse:
    refused = next((form for form in (assigning, leaving) if form is not None), None)
    context = {
        "line": line,
        "payments": line.payments.select_related("invoice"),
        "assigning": assigning or _assign_form(line),
        "leaving": leaving or SetAsideForm(auto_id="id_aside_%s"),
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if refused is not None else 200
    return render(request, "billing/bank_line.html", context, status=status)
