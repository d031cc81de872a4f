"""The start page of finance: what waits, what is at risk, what to bill, what came in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements import access
from engagements.billing import balances, milestones, payment_queries
from engagements.common import money
from engagements.finance import queries as finance
from engagements.payouts import queries as overpayments
from engagements.settlements import queries
from engagements.settlements.actions import waiting_for
from engagements.settlements.pending import pending_settlements


@access.finance_page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Everything that finance has to do or to know today."""
    waiting = queries.settlements_waiting()
    at_risk = finance.money_at_risk()
    to_bill = milestones.milestones_to_bill()
    bills = list(balances.open_invoices())
    today = timezone.localdate()
    to_settle = pending_settlements(today=today)
    refunds = [*waiting, *(row.last for row in to_settle if row.last)]
    overdue = [bill for bill in bills if bill.due_on and bill.due_on < today]
    going_back = list(overpayments.open_overpayment_refunds())
    under_way = {row.invoice_id: row for row in going_back}
    rests = [
        (invoice, overpayments.rest_of(invoice, under_way.get(invoice.pk)))
        for invoice in overpayments.overpaid_invoices()
    ]
    context = {
        "waiting": [(settlement, waiting_for(settlement)) for settlement in waiting],
        "to_settle": to_settle,
        "refunds_overdue": sum(settlement.is_refund_overdue for settlement in refunds),
        "done": queries.settlements_done(),
        "at_risk": at_risk,
        "to_bill": to_bill,
        "bills": bills,
        "overdue_count": len(overdue),
        "overpaid": [(*row, row[0].pk in under_way) for row in rests if row[1] > 0],
        "going_back": going_back,
        "payments": payment_queries.recent_payments(),
        "acts": access.is_finance(request.user),
        "today": today,
        "totals": {
            "at_risk": money.totals_by_currency((r.currency, r.received) for r in at_risk),
            "going_back": money.totals_by_currency((s.currency, s.refund) for s in waiting),
            "to_bill": money.totals_by_currency((m.currency, m.gross) for m in to_bill),
            "open": money.totals_by_currency((b.currency, b.amount_due) for b in bills),
            "overdue": money.totals_by_currency((b.currency, b.amount_due) for b in overdue),
        },
    }
    return render(request, "finance/overview.html", context)
