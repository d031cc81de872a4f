"""Finance pages: overview, a customer's account, money at risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing import balances, milestones, payments
from engagements.billing.bank_models import BankLine
from engagements.common import money
from engagements.common.integers import whole
from engagements.common.tables import amounts, as_csv
from engagements.finance import approvals, at_risk
from engagements.page_access import finance_page
from engagements.payouts import queries as overpayments
from engagements.settlements import customer_accounts, finance_mails, queries
from engagements.settlements.labels import next_step
from engagements.settlements.queries import pending_settlements

PER_PAGE, ALL = 50, 100_000
ACCOUNT_COLUMNS = ("Currency", "Date", "Transaction", "Reference", "Amount", "Balance")
RISK_COLUMNS = (
    *("Engagement", "Customer", "Stage", "Currency", "Refund liability", "With tax"),
    *("Target", "Ratio", "Low", "High", "Verdict"),
)


@finance_page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Open tasks of finance, money at risk and recent payments."""
    waiting = queries.settlements_waiting()
    risks = at_risk.all_rows()
    to_bill = milestones.milestones_to_bill()
    bills = list(balances.open_invoices())
    today = timezone.localdate()
    to_settle = pending_settlements(today=today)
    refunds = [*waiting, *(row.last for row in to_settle if row.last)]
    overdue = [bill for bill in bills if bill.due_on and bill.due_on < today]
    going_back = list(overpayments.open_overpayment_refunds())
    under_way = {row.invoice_id: row for row in going_back}
    rests = [
        (invoice, overpayments.remaining_overpayment(invoice, under_way.get(invoice.pk)))
        for invoice in overpayments.overpaid_invoices()
    ]
    context = {
        "waiting": [(settlement, next_step(settlement)) for settlement in waiting],
        "to_settle": to_settle,
        "refunds_overdue": sum(settlement.is_refund_overdue for settlement in refunds),
        "done": queries.settlements_done(),
        "at_risk": risks,
        "to_bill": to_bill,
        "bills": bills,
        "overdue_count": len(overdue),
        "overpaid": [(*row, row[0].pk in under_way) for row in rests if row[1] > 0],
        "going_back": going_back,
        "payments": payments.recent_payments(),
        "approvals": approvals.waiting(),
        "open_lines": BankLine.objects.filter(state=BankLine.State.OPEN).count(),
        "refunds_near": [row for row in waiting if finance_mails.is_refund_near(row)],
        "can_edit": access.is_finance(request.user),
        "today": today,
        "totals": {
            "at_risk": [(row.currency, -row.balance) for row in at_risk.totals() if row.balance],
            "going_back": money.totals_by_currency((s.currency, s.refund) for s in waiting),
            "to_bill": money.totals_by_currency((m.currency, m.gross) for m in to_bill),
            "open": money.totals_by_currency((b.currency, b.amount_due) for b in bills),
            "overdue": money.totals_by_currency((b.currency, b.amount_due) for b in overdue),
        },
    }
    return render(request, "finance/overview.html", context)


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
