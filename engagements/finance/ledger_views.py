"""Ledger pages: trial balance, account, engagement, entry."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing.models import Invoice
from engagements.common.integers import whole
from engagements.common.tables import amounts, as_csv
from engagements.documents.models import Document
from engagements.documents.registry import Subject
from engagements.ledger import periods
from engagements.ledger import queries as ledger
from engagements.ledger.forms import MonthField
from engagements.ledger.models import Account, Entry, Leg
from engagements.page_access import finance_page

PER_PAGE = 50
BALANCE_COLUMNS = ("Currency", "Account", "DATEV", "Debit", "Credit", "Balance")
LEG_COLUMNS = (
    *("Dated on", "Entry", "What", "Key", "Engagement", "Customer"),
    *("Account", "DATEV", "Currency", "Amount"),
)


@finance_page
@require_safe
def trial_balance(request: HttpRequest) -> HttpResponse:
    """The trial balance up to the end of the month `until`."""
    until = _month(request.GET.get("until", ""))
    rows = ledger.trial_balance(until=until)
    if request.GET.get("format") == "csv":
        return as_csv("trial-balance", BALANCE_COLUMNS, map(_balance_cells, rows))
    sums = {currency: sides for currency, *sides in ledger.totals_by_currency(rows)}
    context = {
        "groups": [
            (currency, [row for row in rows if row.currency == currency], *sums[currency])
            for currency in sums
        ],
        "until": until,
        "months": ledger.months(),
        "last_closed": periods.last_closed(),
        "query": request.GET.urlencode(),
    }
    return render(request, "ledger/ledger.html", context)


def _balance_cells(row: ledger.BalanceRow) -> Sequence[Any]:
    account = row.account
    name, number = account.name, account.datev_number
    sums = amounts(row.currency, row.debit, row.credit, row.balance)
    return (row.currency, name, number, *sums)


@finance_page
@require_safe
def account(request: HttpRequest, code: str, currency: str) -> HttpResponse:
    """Show an account in one currency: its legs, newest first, and its balance by engagement."""
    row = get_object_or_404(Account, code=code)
    before = _place(request.GET.get("before", ""))
    text = request.GET.get("q", "").strip()
    page = ledger.account_page(row, currency, before=before, count=PER_PAGE)
    engagements = ledger.balances_of_engagements(row, currency, text=text, count=PER_PAGE)
    if request.GET.get("format") == "csv":
        legs = Leg.objects.filter(account=row, currency=currency).order_by("dated_on", "pk")
        legs = legs.select_related("entry", "account", "engagement__customer")
        return as_csv(f"{code}-{currency}", LEG_COLUMNS, map(leg_cells, legs.iterator(2000)))
    older = f"{page.older[0]:%Y-%m-%d}.{page.older[1]}" if page.older else ""
    context = {
        "account": row,
        "currency": currency,
        "page": page,
        "older": older,
        "is_first": before is None,
        "text": text,
        "engagements": engagements,
    }
    return render(request, "ledger/account.html", context)


def leg_cells(leg: Leg) -> Sequence[Any]:
    """The cells of a leg in the order of LEG_COLUMNS."""
    entry, engagement = leg.entry, leg.engagement
    return (
        *(leg.dated_on, entry.pk, entry.get_kind_display(), entry.key),
        *((engagement.reference, engagement.customer.name) if engagement else ("", "")),
        *(leg.account.name, leg.account.datev_number, leg.currency),
        *amounts(leg.currency, leg.amount),
    )


@finance_page
@require_safe
def engagement(request: HttpRequest, reference: str) -> HttpResponse:
    """One engagement's balances and entries."""
    row = access.engagement_for(request.user, reference)
    entries = ledger.entries_of(row)
    if request.GET.get("format") == "csv":
        legs = (leg for entry in reversed(entries) for leg in _with_entry(entry, row))
        return as_csv(f"ledger-{reference}", LEG_COLUMNS, map(leg_cells, legs))
    context = {
        "engagement": row,
        "balances": ledger.engagement_balances(row),
        "entries": entries,
    }
    return render(request, "ledger/engagement.html", context)


def _with_entry(entry: Entry, engagement: Any) -> Sequence[Leg]:
    legs = list(entry.legs.all())
    for leg in legs:
        leg.entry, leg.engagement = entry, engagement
    return legs


@finance_page
@require_safe
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """One entry with its legs, subject and documents."""
    row = access.entry_for(request.user, pk)
    context = {
        "entry": row,
        "engagement": row.engagement,
        "legs": row.legs.select_related("account"),
        "fact": _subject_link(row),
        "documents": documents_of(row),
    }
    return render(request, "ledger/entry.html", context)


def _subject_link(row: Entry) -> tuple[str, str] | None:
    """The name and URL of an entry's subject."""
    subject = subject_of(row)
    if subject is None:
        return None
    invoice = invoice_of(subject)
    if invoice is not None:
        return invoice.reference, reverse("invoice", args=[invoice.pk])
    if subject.noun == "settlement":
        return f"Settlement {subject.pk}", reverse("settlement", args=[subject.pk])
    if subject.noun == "bank_line":
        return "Bank line", reverse("bank-line", args=[subject.pk])
    pages = {"audit": "engagement-audit", "contract": "engagement-contract"}
    if subject.noun not in pages or row.engagement is None:
        return None
    reference = row.engagement.reference
    return f"{subject.noun.capitalize()} of {reference}", reverse(
        pages[subject.noun], args=[reference]
    )


def _month(text: str) -> date | None:
    """Parse a month in a query string, such as 2026-03, or raise Http404."""
    try:
        return MonthField(required=False).clean(text)
    except ValidationError as error:
        raise Http404("No such month.") from error


def _place(text: str) -> tuple[date, int] | None:
    """Parse the start of an account page, such as 2026-03-14.17, or raise Http404."""
    if not text:
        return None
    day, _, key = text.partition(".")
    leg = whole(key)
    if leg is not None:
        with suppress(ValueError):
            return date.fromisoformat(day), leg
    raise Http404("No such page.")


def subject_of(entry: Entry) -> Subject | None:
    """Parse the subject from an entry's key, kind:noun:pk[:act]; None if it has none."""
    try:
        return Subject.read(entry.key.partition(":")[2])
    except ValueError:
        return None


def invoice_of(subject: Subject) -> Invoice | None:
    """The invoice or credit note of a subject, or the invoice of a payment."""
    if subject.noun == "invoice":
        return Invoice.objects.filter(pk=subject.pk).first()
    if subject.noun == "payment":
        return Invoice.objects.filter(payments=subject.pk).first()
    return None


def documents_of(entry: Entry) -> list[Document]:
    """The entry's document and those issued for its subject."""
    subject = subject_of(entry)
    found = [entry.document] if entry.document else []
    if subject is None:
        return found
    about = Document.objects.filter(
        engagement=entry.engagement_id, subject=f"{subject.noun}:{subject.pk}"
    )
    return [*found, *(row for row in about.defer("content") if row.pk != entry.document_id)]
