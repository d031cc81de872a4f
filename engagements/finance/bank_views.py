"""Bank reconciliation pages: import files, choose columns, assign and match lines."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.billing import bank_chain, bank_imports, reconciliation
from engagements.billing.balances import open_invoices
from engagements.billing.bank_files import csv_file
from engagements.billing.bank_forms import (
    AssignForm,
    BankFileForm,
    ColumnsForm,
    SetAsideForm,
)
from engagements.billing.payment_models import BankImport, BankLine, Payment
from engagements.billing.reconciliation import Proposal, assignable_invoices, proposals
from engagements.billing.write_off_forms import ExchangeForm
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.common.money import format_money
from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import amounts, as_csv
from engagements.payouts import bank_matching
from engagements.payouts.bank_matching import Refund
from engagements.payouts.models import Transfer

PER_PAGE = 100
OPEN = BankLine.State.OPEN
COLUMNS = (
    *("Booked on", "Payer", "Account", "Text", "Entry", "Currency", "Amount", "State"),
    *("Invoices", "Note", "Handled by"),
)


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def bank(request: HttpRequest) -> HttpResponse:
    """Lines to assign, recent files, and the upload form."""
    form = BankFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            imported = bank_imports.import_file(
                filename=file.name, content=file.read(), by=actor(request)
            )
        except ApplicationError as error:
            form.add_error("file", str(error))
        else:
            _match(request, imported)
            return redirect("bank-import", pk=imported.pk)
    # Over all pages, since lines that quote the same invoice depend on each other.
    found = proposals(_open_lines().filter(amount__gt=0))
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    outgoing = _open_lines().filter(amount__lt=0)
    context = {
        "form": form,
        "listed": listed,
        "outgoing": outgoing[:PER_PAGE],
        "outgoing_count": outgoing.count(),
        "setting_aside": SetAsideForm(auto_id="id_outgoing_%s"),
        "balances": bank_chain.latest_balances(),
        "proposals": [(proposal, token(proposal)) for proposal in listed],
        "has_certain": any(proposal.is_certain for proposal in listed),
        "imports": BankImport.objects.defer("content").select_related("imported_by")[:10],
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


@access.finance_page
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


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest, pk: int) -> HttpResponse:
    """The lines of a file (`format=csv` downloads them), or the form to choose its columns."""
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
    form = ColumnsForm(request.POST or None, table=table, accounts=bank_chain.own_ibans())
    if request.method == "POST" and form.is_valid():
        try:
            parsed = bank_imports.choose_columns(
                bank_import=row, layout=form.layout(), by=actor(request)
            )
        except ApplicationError as error:
            form.add_error(None, str(error))
        else:
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


@access.finance_page
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


@access.finance_page
@require_safe
def line_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One line with its payments, or the form to assign it."""
    return _line(request, _line_of(pk))


@access.finance_page
@require_POST
def assign(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign a line to invoices."""
    line = _line_of(pk)
    invoices = {row.pk: row for row in assignable_invoices(line)}
    form = _assign_form(line, request)
    if form.is_valid():
        parts = [(invoices[key], amount) for key, amount in form.parts()]
        try:
            reconciliation.assign(line=line, parts=parts, by=actor(request))
        except ApplicationError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{format_money(line.amount, line.currency)} assigned.")
            return redirect("bank")
    return _line(request, _line_of(pk), assigning=form)


@access.finance_page
@require_POST
def exchange(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign a line to an invoice in another currency, by a rate."""
    line = _line_of(pk)
    form = _exchange_form(line, request)
    if form.is_valid():
        invoice, amount = form.payment(line.amount)
        try:
            reconciliation.assign_exchanged(
                line=line, invoice=invoice, amount=amount, by=actor(request)
            )
        except ApplicationError as error:
            form.add_error(None, str(error))
        else:
            shown = format_money(amount, invoice.currency)
            messages.success(request, f"{shown} recorded for {invoice.reference}.")
            return redirect("bank")
    return _line(request, _line_of(pk), exchanging=form)


@access.finance_page
@require_POST
def set_aside(request: HttpRequest, pk: int) -> HttpResponse:
    """Set a line aside with a reason."""
    line, form = _line_of(pk), SetAsideForm(request.POST)
    if form.is_valid():
        try:
            reconciliation.set_aside(line=line, note=form.cleaned_data["note"], by=actor(request))
        except ApplicationError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Line set aside.")
            return redirect("bank")
    return _line(request, _line_of(pk), setting_aside=form)


@access.finance_page
@require_POST
def match(request: HttpRequest, pk: int) -> HttpResponse:
    """Match a line with a refund: `refund` is its token, or "named" for those the line names."""
    line = _line_of(pk)
    chosen = request.POST.get("refund", "")
    targets = [row for row in _refunds(line) if refund_token(row) == chosen] or (
        bank_matching.refunds_named_by(line) if chosen == "named" else []
    )
    try:
        bank_matching.match(line=line, targets=targets, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("bank-line", pk=pk)
    messages.success(request, "Line matched with the refund.")
    return redirect("bank")


@access.finance_page
@require_POST
def set_aside_many(request: HttpRequest) -> HttpResponse:
    """Set the chosen outgoing lines aside with one reason."""
    form = SetAsideForm(request.POST)
    chosen = BankLine.objects.filter(
        pk__in=wholes(request.POST.getlist("line")), state=OPEN, amount__lt=0
    )
    if not form.is_valid() or not chosen:
        messages.error(request, "Choose at least one line and enter a reason.")
        return redirect("bank")
    for line in chosen:
        reconciliation.set_aside(line=line, note=form.cleaned_data["note"], by=actor(request))
    messages.success(request, "Lines set aside.")
    return redirect("bank")


def refund_token(refund: Refund) -> str:
    """A refund as form data, such as transfer:17."""
    return f"{'transfer' if isinstance(refund, Transfer) else 'overpaid'}:{refund.pk}"


def _refunds(line: BankLine) -> list[Refund]:
    """The refunds that a line may show; none once it is assigned or matched."""
    if line.state in (BankLine.State.ASSIGNED, BankLine.State.MATCHED):
        return []
    return bank_matching.candidates(line)


@access.finance_page
@require_POST
def confirm_payment(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a line as the bank's record of the keyed payment in `payment`."""
    line = _line_of(pk)
    [key, *_] = [*wholes(request.POST.getlist("payment")), 0]
    try:
        reconciliation.confirm_payment(
            line=line, payment=access.payment_for(request.user, key), by=actor(request)
        )
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("bank-line", pk=pk)
    messages.success(request, f"{format_money(line.amount, line.currency)} confirmed.")
    return redirect("bank")


def token(proposal: Proposal) -> str:
    """A proposal as form data: the line, and the amount for each invoice."""
    parts = ";".join(f"{invoice.pk}={amount.normalize():f}" for invoice, amount in proposal.parts)
    return f"{proposal.line.pk}:{parts}"


def _open_lines() -> QuerySet[BankLine]:
    return (
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
        for row in assignable_invoices(line)
    ]
    initial: dict[str, object] = {"amount_1": line.amount}
    [proposal] = proposals([line])
    for number, (invoice, amount) in enumerate(proposal.parts[:4], start=1):
        initial |= {f"invoice_{number}": invoice.pk, f"amount_{number}": amount}
    data = request.POST if request else None
    return AssignForm(data, currency=line.currency, invoices=choices, initial=initial)


def _exchange_form(line: BankLine, request: HttpRequest | None = None) -> ExchangeForm:
    others = [row for row in open_invoices() if row.currency != line.currency]
    return ExchangeForm(
        request.POST if request else None,
        currency=line.currency,
        invoices=others,
        auto_id="id_exchange_%s",
    )


def _line(
    request: HttpRequest,
    line: BankLine,
    *,
    assigning: AssignForm | None = None,
    exchanging: ExchangeForm | None = None,
    setting_aside: forms.Form | None = None,
) -> HttpResponse:
    is_invalid = any(form is not None for form in (assigning, exchanging, setting_aside))
    context = {
        "line": line,
        "payments": line.payments.select_related("invoice")
        or Payment.objects.filter(confirmation__bank_line=line).select_related("invoice"),
        "keyed": reconciliation.keyed_payments(line) if line.state == OPEN else [],
        "matches": line.transfer_matches.select_related("transfer", "overpayment_refund__invoice"),
        "refunds": [(row, refund_token(row)) for row in _refunds(line)],
        "assigning": assigning or _assign_form(line),
        "exchanging": exchanging or _exchange_form(line),
        "setting_aside": setting_aside or SetAsideForm(auto_id="id_aside_%s"),
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if is_invalid else 200
    return render(request, "billing/bank_line.html", context, status=status)
