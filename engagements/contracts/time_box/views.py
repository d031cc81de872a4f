"""Page of the time-box: clock, pauses, hours and warnings."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor, may_act
from engagements.charts import responses
from engagements.common.client_ip import current_address
from engagements.common.date_fields import DayField
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.common.working_days import add_working_days
from engagements.contracts import amendment_views
from engagements.contracts.models import ContractVersion
from engagements.contracts.summary import contract_summary_of
from engagements.contracts.time_box import charts as time_box_charts
from engagements.contracts.time_box import cooperation, termination
from engagements.contracts.time_box import hours as worked
from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.burn_down import BurnDown, burn_down_of
from engagements.contracts.time_box.models import TimeEntry
from engagements.contracts.time_box.waiting import paused_from, terminable_from
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import consultant_page, portal_page

# The contract's notice of a termination for convenience.
NOTICE_WORKING_DAYS = 5


class TimeEntryForm(forms.Form):
    """A time entry: day, hours and note."""

    worked_on = DayField(label="Day")
    hours = forms.DecimalField(
        min_value=Decimal("0.25"),
        max_value=Decimal(24),
        max_digits=4,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "0.25"}),
    )
    note = forms.CharField(label="Work", max_length=TimeEntry._meta.get_field("note").max_length)
    # A form sent twice makes one entry.
    request_key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class CooperationForm(forms.Form):
    """A request for the customer's cooperation."""

    item = forms.CharField(
        label="What the work needs",
        max_length=1000,
        error_messages={"required": "Enter what the customer has to provide."},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the clock, the hours and the warnings."""
    return _page(request, access.engagement_for(request.user, reference))


@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Record the signed-in consultant's hours."""
    engagement, form = access.engagement_for(request.user, reference), TimeEntryForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            worked.add(engagement=engagement, **form.cleaned_data, by=actor(request))
            messages.success(request, "The hours are recorded.")
            return redirect("engagement-time", reference)
    return _page(request, engagement, form=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def remove(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Remove an entry."""
    engagement = access.engagement_for(request.user, reference)
    entry = TimeEntry.objects.filter(engagement=engagement, pk=pk).first()
    try:
        if entry is not None:
            worked.remove(entry=entry, by=actor(request))
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return _page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, "The hours are removed.")
    return redirect("engagement-time", reference)


@consultant_page
@require_POST
def ask(request: HttpRequest, reference: str) -> HttpResponse:
    """Ask the customer for something that the work needs."""
    engagement, form = access.engagement_for(request.user, reference), CooperationForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            cooperation.ask(engagement=engagement, **form.cleaned_data, by=actor(request))
            messages.success(request, "The signatories are mailed.")
            return redirect("engagement-time", reference)
    return _page(request, engagement, request_form=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def provided(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Record that the customer provided an item today."""
    return _provided(request, reference, pk, page="engagement-time")


@portal_page
@require_POST
def provided_by_customer(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Record for the customer that it provided an item today."""
    return _provided(request, reference, pk, page="portal-engagement")


def _provided(request: HttpRequest, reference: str, pk: int, *, page: str) -> HttpResponse:
    engagement = access.engagement_for(request.user, reference)
    row = engagement.cooperation_requests.filter(pk=pk).first()
    if row is None:
        raise Http404("No such request.")
    with errors_shown(request):
        cooperation.provide(request=row, by=actor(request), address=current_address())
        messages.success(request, "Recorded as provided today.")
    return redirect(page, reference)


def _terminations(contract: ContractVersion, clock: BurnDown) -> dict[str, Any]:
    """The cost of a termination by its clause: today for cause, and after notice."""
    after_notice = add_working_days(clock.today, NOTICE_WORKING_DAYS)
    for_convenience = termination.on_day(contract, clock, after_notice, is_for_convenience=True)
    return {
        "for_cause": termination.on_day(contract, clock, clock.today),
        "for_convenience": for_convenience if contract.convenience else None,
    }


def _page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    form: TimeEntryForm | None = None,
    request_form: CooperationForm | None = None,
    status: int = 200,
) -> HttpResponse:
    summary, today = contract_summary_of(engagement), timezone.localdate()
    box, contract = summary.time_box, summary.in_force
    if box is None or contract is None:
        raise Http404("There is no time-box before the contract is in force.")
    hours = worked.hours_of(engagement, contract)
    clock = burn_down_of(box, contract, today=today, hours=hours.by_day)
    context = {
        "engagement": summary.engagement,
        "summary": summary,
        "contract": contract,
        "box": box,
        "clock": clock,
        "settles_on": time_box.settles_on(engagement),
        "is_running": summary.engagement.stage == Stage.ACTIVE,
        "pauses": clock.pauses,
        "requests": [
            (row, paused_from(row), terminable_from(row))
            for row in engagement.cooperation_requests.select_related("asked_by")
        ],
        **_terminations(contract, clock),
        "request_form": request_form or CooperationForm(),
        "today": today,
        "chart": responses.inline(lambda theme: time_box_charts.burn_down(clock, theme=theme)),
        "hours": hours,
        "form": form or TimeEntryForm(initial={"worked_on": today}),
        "warnings": engagement.time_box_warnings.all(),
        "may_act": may_act(request),
        "may_amend": may_act(request) and amendment_views.may_draft(summary),
    }
    return render(request, "contracts/time_box.html", context, status=status)
