"""Closing a month: first what that means, then the act."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.ledger import periods
from engagements.ledger import queries as ledger
from engagements.ledger.forms import CloseForm
from engagements.ledger.models import Period


@access.finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest) -> HttpResponse:
    """The months that are closed, and what closing another would do; posted, it is closed."""
    asked, closing = request.POST or request.GET or _suggested(), None
    form = CloseForm(asked)
    if form.is_valid():
        closing = periods.preview(month=form.cleaned_data["month"])
        if request.method == "POST":
            try:
                period = periods.close(month=closing.month, by=actor(request))
            except ApplicationError as refused:
                form.add_error(None, str(refused))
            else:
                messages.success(request, f"{period.month:%B %Y} is closed.")
                return redirect("ledger-close")
    context = {
        "form": form,
        "closing": closing,
        # Nothing was asked for, and nothing can be closed before this month is over.
        "waits": None if asked else periods.preview(month=timezone.localdate()).obstacle,
        "rows": ledger.trial_balance(until=closing.month) if closing else [],
        "periods": Period.objects.select_related("closed_by"),
        "acts": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "ledger/close.html", context, status=status)


def _suggested() -> dict[str, str] | None:
    """The month that ended last, which is usually closed next; None once it is closed."""
    ended = (timezone.localdate().replace(day=1) - timedelta(days=1)).replace(day=1)
    closed = periods.last_closed()
    return None if closed and ended <= closed else {"month": f"{ended:%Y-%m}"}
