"""Finance pages: overview, a customer's account, money at risk."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing import balances, milestones, payments
from engagements.billing.bank_models import CONFIRMED_LINE, BankLine
from engagements.common.integers import whole
from engagements.common.tables import amounts, as_csv
from engagements.common.totals import totals_by_currency
from engagements.finance import approvals, at_risk
from engagements.page_access import finance_page
from engagements.payouts import queries as overpayments
from engagements.settlements import customer_accounts, queries, queues
from engagements.settlements.labels import next_step

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

PER_PAGE, ALL = 50, 100_000
# Rows of each section of the overview.
SHOWN = 8
ACCOUNT_COLUMNS = ("Currency", "Date", "Transaction", "Reference", "Amount", "Balance")
RISK_COLUMNS = (
    *("Engagement", "Customer", "Stage", "Currency", "Refund liability", "With tax"),
    *("Target", "Ratio", "Low", "High", "Verdict"),
)


@finance_page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Open tasks of finance, money at risk and recent payments."""
    today = timezone.localdate()
    waiting = queries.settlements_waiting()
    to_settle = queries.contracts_to_settle(today=today)
    to_bill = milestones.milestones_to_bill()
    bills = balances.open_invoices()
    overdue = balances.overdue_invoices(today=today)
    refunds = overpayments.open_overpayment_refunds()
    context = {
        "waiting": [(settlement, next_step(settlement)) for settlement in waiting[:SHOWN]],
        "to_settle": queries.pending_settlements(today=today, limit=SHOWN),
        "settlement_count": waiting.count() + to_settle.count(),
        "refunds_overdue": queues.found(queue=queues.Queue.OVERDUE).count(),
        "done": queries.settlements_done(),
        "at_risk": at_risk.largest(SHOWN),
        "to_bill": milestones.lines_of(to_bill[:SHOWN]),
        "bills": bills[:SHOWN],
        "overdue_count": overdue.count(),
        "overpaid": _overpaid(),
        "going_back": refunds[:SHOWN],
        "payments": payments.recent_payments(),
        "approvals": approvals.waiting(),
        "open_lines": BankLine.objects.filter(CONFIRMED_LINE, state=BankLine.State.OPEN).count(),
        "refunds_near": queues.refunds_near()[:SHOWN],
        "can_edit": access.is_finance(request.user),
        "today": today,
        "totals": {
            "at_risk": [(row.currency, -row.balance) for row in at_risk.totals() if row.balance],
            "going_back": totals_by_currency(waiting, "refund"),
            "to_bill": totals_by_currency(to_bill, "amount", currency="contract_version__currency"),
            "open": totals_by_currency(bills, "amount_due"),
            "overdue": totals_by_currency(overdue, "amount_due"),
        },
    }
    return render(request, "finance/overview.html", context)


def _overpaid() -> list[tuple[InvoiceWithBalance, Decimal, bool]]:
    """Overpaid invoices, what remains of each overpayment, and whether a refund is under way."""
    under_way = {row.invoice_id: row for row in overpayments.open_overpayment_refunds()}
    rows = []
    for invoice in overpayments.overpaid_invoices()[:SHOWN]:
        refund = under_way.get(invoice.pk)
        remaining = overpayments.remaining_overpayment(invoice, refund)
        if remaining > 0:
            rows.append((invoice, remaining, refund is not None))
    return rows


@finance_page
@require_safe
def account(request: HttpRequest, pk: int) -> HttpResponse:
    """A customer's account by currency; `format=csv` downloads it."""
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
        return as_csv(f"account-{customer.pk}", ACCOUNT_COLUMNS, rows)
    return render(request, "finance/account.html", {"customer": customer, "accounts": accounts})


@finance_page
@require_safe
def money_at_risk(request: HttpRequest) -> HttpResponse:
    """The refund liability by engagement, with the latest estimate of the ratio."""
    totals = at_risk.totals()
    currencies = [row.currency for row in totals if row.balance]
    currency = request.GET.get("currency") or (currencies[0] if currencies else "EUR")
    text = request.GET.get("q", "").strip()
    offset = whole(request.GET.get("from", "")) or 0
    count = ALL if request.GET.get("format") == "csv" else PER_PAGE + 1
    rows = at_risk.rows(currency, text=text, count=count, offset=offset)
    if request.GET.get("format") == "csv":
        return as_csv("money-at-risk", RISK_COLUMNS, map(_risk_cells, rows))
    context = {
        "totals": totals,
        "currency": currency,
        "currencies": currencies,
        "text": text,
        "rows": rows[:PER_PAGE],
        "further": offset + PER_PAGE if len(rows) > PER_PAGE else None,
    }
    return render(request, "finance/money_at_risk.html", context)


def _risk_cells(row: at_risk.RiskRow) -> Sequence[Any]:
    estimate = row.estimate
    measured = (estimate.ratio, estimate.low, estimate.high) if estimate else (None, None, None)
    return (
        row.engagement.reference,
        row.engagement.customer.name,
        row.engagement.get_stage_display(),
        row.currency,
        *amounts(row.currency, row.liability, row.with_tax),
        row.target,
        *(f"{value:.3f}" if value is not None else None for value in measured),
        estimate.verdict if estimate else None,
    )
