"""The list of settlements by queue, as a page and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.common.pages import query_of
from engagements.common.tables import amounts, as_csv
from engagements.page_access import finance_page
from engagements.settlements import queues
from engagements.settlements.labels import next_step
from engagements.settlements.models import Settlement
from engagements.settlements.queues import Queue

PER_PAGE = 50
COLUMNS = (
    *("Settlement", "Engagement", "Customer", "Reason", "State", "On hold", "Proposed", "Currency"),
    *("Received", "Refunded before", "Audit cost", "Audit tax", "Refund", "Refund due on"),
    *("Balance due", "Reference"),
)


@finance_page
@require_safe
def settlement_list(request: HttpRequest) -> HttpResponse:
    """List settlements in a `queue`, searched by `q`; `format=csv` downloads them."""
    queue, text = request.GET.get("queue", ""), request.GET.get("q", "").strip()
    if queue and queue not in Queue.values:
        raise Http404("No such queue.")
    found = queues.found(queue=queue, text=text)
    if request.GET.get("format") == "csv":
        return as_csv("settlements", COLUMNS, map(_cells, found))
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    counts = queues.counts()
    context = {
        "listed": listed,
        "rows": [(row, next_step(row)) for row in listed],
        "queue": queue,
        "text": text,
        "queues": [(each, counts.get(each.value)) for each in Queue],
        "query": query_of(request),
        "acts": access.is_finance(request.user),
    }
    return render(request, "settlements/settlements.html", context)


def _cells(row: Settlement) -> Sequence[Any]:
    engagement = row.contract_version.engagement
    return (
        *(row.pk, engagement.reference, engagement.customer.name, row.get_reason_display()),
        *(row.get_state_display(), "yes" if row.is_on_hold else "no", row.proposed_at.date()),
        row.currency,
        *amounts(row.currency, row.payments_received, row.refunded_before, row.audit_cost),
        *amounts(row.currency, row.audit_tax, row.refund),
        row.refund_due_on,
        *amounts(row.currency, row.balance_due),
        row.payment_reference,
    )
