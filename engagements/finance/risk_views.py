"""Money at risk: how much of our cash might go back, by engagement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.common.integers import whole
from engagements.common.tables import amounts, as_csv
from engagements.finance import at_risk

PER_PAGE, ALL = 50, 100_000
RISK_COLUMNS = (
    *("Engagement", "Customer", "Stage", "Currency", "Refund liability", "With tax"),
    *("Target", "Ratio", "Low", "High", "Verdict"),
)


@access.finance_page
@require_safe
def money_at_risk(request: HttpRequest) -> HttpResponse:
    """The refund liability by engagement, with the latest estimate of the ratio beside it."""
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
