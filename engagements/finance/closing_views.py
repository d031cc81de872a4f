"""Pages for closing and reopening months, each step by a second person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.finance import closing_checklist
from engagements.ledger import periods
from engagements.ledger import queries as ledger
from engagements.ledger.forms import CloseForm
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.page_access import finance_page
from engagements.people import reauthentication


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest) -> HttpResponse:
    """Months, waiting steps and the checklist of a month; POST proposes to close it."""
    data, closing = request.POST or request.GET or _next_to_close(), None
    form = CloseForm(data)
    if form.is_valid():
        closing = periods.preview(month=form.cleaned_data["month"])
        if request.method == "POST":
            try:
                period = closing_checklist.propose(
                    month=closing.month, note=form.cleaned_data["note"], by=actor(request)
                )
            except ApplicationError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, f"Closing of {period.month:%B %Y} proposed.")
                return redirect("ledger-close")
    waiting = Period.objects.filter(state=Period.State.PROPOSED).first()
    reopening = PeriodReopening.objects.filter(state=PeriodReopening.State.PROPOSED).first()
    checks = closing_checklist.checks(closing.month) if closing else []
    context = {
        "form": form,
        "closing": closing,
        # No month was given and all past months are closed: when this month can be closed.
        "next_close": "" if data else periods.preview(month=timezone.localdate()).blocking_reason,
        "rows": ledger.trial_balance(until=closing.month) if closing else [],
        "checks": checks,
        "needs_note": any(not check.is_done for check in checks),
        "waiting": waiting,
        "reopening": reopening,
        "periods": Period.objects.exclude(state=Period.State.PROPOSED)
        .select_related("proposed_by", "approved_by")
        .prefetch_related("reopenings__proposed_by", "reopenings__approved_by"),
        "last_closed": periods.last_closed(),
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "ledger/close.html", context, status=status)


@finance_page
@require_POST
@reauthentication.with_reauthentication
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Close a proposed month, as a second person."""
    row = get_object_or_404(Period, pk=pk)
    return _step(
        request,
        lambda: closing_checklist.approve(period=row, by=actor(request)),
        f"{row.month:%B %Y} closed.",
    )


@finance_page
@require_POST
def void(request: HttpRequest, pk: int) -> HttpResponse:
    """Void a proposed closing."""
    row = get_object_or_404(Period, pk=pk)
    return _step(
        request, lambda: periods.void(period=row, by=actor(request)), "The closing was voided."
    )


@finance_page
@require_POST
def reopen(request: HttpRequest, pk: int) -> HttpResponse:
    """Propose to reopen the latest closed month, with a reason."""
    row, reason = get_object_or_404(Period, pk=pk), request.POST.get("reason", "")
    return _step(
        request,
        lambda: closing_checklist.propose_reopening(period=row, reason=reason, by=actor(request)),
        f"Reopening of {row.month:%B %Y} proposed.",
    )


@finance_page
@require_POST
@reauthentication.with_reauthentication
def approve_reopening(request: HttpRequest, pk: int) -> HttpResponse:
    """Reopen a month, as a second person."""
    row = get_object_or_404(PeriodReopening.objects.select_related("period"), pk=pk)
    return _step(
        request,
        lambda: closing_checklist.approve_reopening(reopening=row, by=actor(request)),
        f"{row.period.month:%B %Y} reopened.",
    )


@finance_page
@require_POST
def void_reopening(request: HttpRequest, pk: int) -> HttpResponse:
    """Void a proposed reopening."""
    row = get_object_or_404(PeriodReopening, pk=pk)
    return _step(
        request,
        lambda: periods.void_reopening(reopening=row, by=actor(request)),
        "The reopening was voided.",
    )


def _step(request: HttpRequest, act: Callable[[], object], done: str) -> HttpResponse:
    try:
        act()
    except ApplicationError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect("ledger-close")


def _next_to_close() -> dict[str, str] | None:
    """The previous month as form data; None once it is closed."""
    ended = (timezone.localdate().replace(day=1) - timedelta(days=1)).replace(day=1)
    closed = periods.last_closed()
    return None if closed and ended <= closed else {"month": f"{ended:%Y-%m}"}
