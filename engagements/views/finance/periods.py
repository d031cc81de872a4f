"""Closing a month: first what that means, then the act."""

from __future__ import annotations

from datetime import date, timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.errors import Refused
from engagements.forms.ledger import CloseForm
from engagements.models import Period
from engagements.queries import ledger
from engagements.services import periods
from engagements.views.answers import UNPROCESSABLE, actor


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest) -> HttpResponse:
    """The months that are closed, and what closing another would do; posted, it is closed."""
    form = CloseForm(request.POST or request.GET or {"month": f"{_last_month():%Y-%m}"})
    closing = None
    if form.is_valid():
        closing = periods.preview(month=form.cleaned_data["month"])
        if request.method == "POST":
            try:
                period = periods.close(month=closing.month, by=actor(request))
            except Refused as refused:
                form.add_error(None, str(refused))
            else:
                messages.success(request, f"{period.month:%B %Y} is closed.")
                return redirect("ledger-close")
    context = {
        "form": form,
        "closing": closing,
        "rows": ledger.trial_balance(until=closing.month) if closing else [],
        "periods": Period.objects.select_related("closed_by"),
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "finance/ledger_close.html", context, status=status)


def _last_month() -> date:
    """The month that ended last: the one that is usually closed next."""
    return (timezone.localdate().replace(day=1) - timedelta(days=1)).replace(day=1)
