"""A customer's account: what was invoiced, credited, paid and paid back."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.common.tables import amounts, as_csv
from engagements.settlements import customer_accounts

COLUMNS = ("Currency", "On", "What", "Reference", "Amount", "Balance")


@access.finance_page
@require_safe
def account(request: HttpRequest, pk: int) -> HttpResponse:
    """One customer's account in each currency; `format=csv` downloads it."""
    customer = access.customer_for(request.user, pk)
    accounts = customer_accounts.accounts_of(customer.engagements.all())
    if request.GET.get("format") == "csv":
        rows = (
            (
                *(account.currency, row.on, row.what, row.reference),
                *amounts(account.currency, row.amount, row.balance),
            )
            for account in accounts
            for row in account.postings
        )
        return as_csv(f"account-{customer.pk}", COLUMNS, rows)
    return render(request, "finance/account.html", {"customer": customer, "accounts": accounts})
