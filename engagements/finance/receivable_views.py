"""Pages of aged receivables, VAT figures, and a customer's statement of account as PDF."""

from __future__ import annotations

from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements import access
from engagements.common import money
from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import amounts, as_csv
from engagements.documents import formatting
from engagements.documents.render import render_pdf
from engagements.documents.renderable import RenderableDocument
from engagements.finance import receivables
from engagements.ledger.forms import PeriodForm
from engagements.page_access import finance_page
from engagements.people.models import Customer
from engagements.settlements import customer_accounts

AGED_COLUMNS = ("Customer", "Currency", *receivables.BUCKETS, "Total")
VAT_COLUMNS = ("Currency", "Treatment", "Rate percent", "Net", "Tax")


@finance_page
@require_safe
def aged(request: HttpRequest) -> HttpResponse:
    """Receivables by customer and days overdue; `format=csv` downloads them."""
    rows = receivables.aged(today=timezone.localdate())
    if request.GET.get("format") == "csv":
        cells = (
            (row.customer.name, row.currency, *amounts(row.currency, *row.amounts, row.total))
            for row in rows
        )
        return as_csv("aged-receivables", AGED_COLUMNS, cells)
    context = {
        "groups": [
            (currency, [row for row in rows if row.currency == currency], buckets, total)
            for currency, buckets, total in receivables.totals_of(rows)
        ],
        "buckets": receivables.BUCKETS,
    }
    return render(request, "finance/receivables.html", context)


@finance_page
@require_safe
def vat(request: HttpRequest) -> HttpResponse:
    """VAT figures of the chosen months, checked against the ledger."""
    last_month = (timezone.localdate().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    form = PeriodForm(request.GET or {"first": last_month, "last": last_month})
    rows: list[receivables.VatRow] = []
    checks: list[receivables.VatCheck] = []
    if form.is_valid():
        period = form.cleaned_data["first"], form.cleaned_data["last_day"]
        rows = receivables.vat_figures(*period)
        checks = receivables.vat_checks(rows, *period)
        if request.GET.get("format") == "csv":
            cells = (
                (row.currency, row.label, row.rate, *amounts(row.currency, row.net, row.tax))
                for row in rows
            )
            return as_csv("vat", VAT_COLUMNS, cells)
    context = {"form": form, "rows": rows, "checks": checks, "query": request.GET.urlencode()}
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "finance/vat.html", context, status=status)


@finance_page
@require_safe
def statement(request: HttpRequest, pk: int) -> HttpResponse:
    """A customer's statement of account as PDF, as of today."""
    customer = access.customer_for(request.user, pk)
    document = _statement(customer)
    response = HttpResponse(render_pdf(document), content_type="application/pdf")
    response["Content-Disposition"] = f'inline; filename="{document.filename}"'
    return response


def _statement(customer: Customer) -> RenderableDocument:
    engagement = customer.engagements.first()
    accounts = customer_accounts.accounts_of(customer.engagements.all())
    if engagement is None or not accounts:
        raise Http404("No account yet.")
    now = timezone.now()
    facts = [
        [account.currency, row.on.isoformat(), row.what, row.reference, str(row.amount)]
        for account in accounts
        for row in account.postings
    ]
    shown = [
        {
            "currency": account.currency,
            "balance": money.format_money(account.balance, account.currency, customer.locale),
            "rows": [
                {
                    "on": row.on,
                    "what": row.what,
                    "reference": row.reference,
                    "amount": formatting.figure(row.amount, account.currency),
                    "balance": formatting.figure(row.balance, account.currency),
                }
                for row in account.postings
            ],
        }
        for account in accounts
    ]
    title = f"Statement of account of {customer.name}"
    return RenderableDocument(
        engagement=engagement,
        title=title,
        running_title="Statement of account",
        filename=f"statement-{customer.pk}-{timezone.localdate():%Y-%m-%d}.pdf",
        template="finance/document/statement.html",
        dated=now,
        seal=digest_of_bytes(canonical(facts)),
        sealed="Canonical JSON of the postings",
        summary=title,
        context={
            "accounts": shown,
            "today": timezone.localdate(),
            "customer": formatting.party(
                {
                    "name": customer.name,
                    "address": customer.address,
                    "country": customer.country,
                    "vat_id": customer.vat_id,
                }
            ),
        },
    )
