"""Pages of a measurement's dispute: one in the portal, one for consultants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.storage import Storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.limits import limits
from benchmarks.models import place_of_records
from engagements import access
from engagements.access import actor
from engagements.charges import services as charges
from engagements.charges.models import LIVE
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.common.uploads import takes_files
from engagements.disputes import repeats, services, verdicts
from engagements.disputes.forms import (
    DecideForm,
    MessageForm,
    RaiseForm,
    ReimburseForm,
    RepeatForm,
)
from engagements.disputes.models import DisputeMessage, MeasurementDispute
from engagements.page_access import consultant_page, finance_page, portal_page
from engagements.people import second_person
from engagements.people.models import User
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of

MOST_BYTES = limits().record_bytes + services.MOST_ATTACHMENT_BYTES
ACTS = ("raise", "message", "repeat", "withdraw", "decide", "release")
FINANCE_ACTS = ("book", "charge", "reimburse")


@takes_files(up_to_bytes=MOST_BYTES)
@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def portal(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Show the dispute of a run to the customer; POST acts on it."""
    return _page(request, reference, pk, up="portal-run", url="portal-run-dispute")


@takes_files(up_to_bytes=MOST_BYTES)
@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def workbench(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Show the dispute of a run to staff; POST acts on it, for consultants."""
    return _page(request, reference, pk, up="run", url="run-dispute")


@finance_page
@require_POST
def finance(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Book a repeat after the refund was sent; charge its cost, or record a reimbursement."""
    run = _run(request, reference, pk)
    dispute, act = run.disputes.first(), request.POST.get("act", "")
    if act not in FINANCE_ACTS or dispute is None:
        raise Http404("No such act.")
    form = ReimburseForm(request.POST) if act == "reimburse" else None
    with errors_shown(request):
        if act == "charge":
            row = charges.propose_repeat(dispute=dispute, by=actor(request))
            return redirect("charge", pk=row.pk)
        if form is None:
            verdicts.book(dispute=dispute, by=actor(request))
        elif form.is_valid():
            reference_text = form.cleaned_data["reference"]
            services.reimburse(dispute=dispute, reference=reference_text, by=actor(request))
        else:
            raise ApplicationError("Enter the invoice or transfer.", code="dispute.no_reference")
        messages.success(request, "Saved.")
    return redirect("run-dispute", reference, pk)


@login_required
@require_safe
def attachment(request: HttpRequest, reference: str, pk: int, message: int) -> HttpResponseBase:
    """Download the file of a message. It is never shown in the browser."""
    run = _run(request, reference, pk)
    row = DisputeMessage.objects.filter(dispute__run=run, pk=message).exclude(name="").first()
    if row is None:
        raise Http404("No such file.")
    storage: Storage = place_of_records()
    try:
        opened = storage.open(row.file.name or "", "rb")
    except OSError as error:
        raise Http404(
            "This file is missing from storage. Ask the consultancy to restore it."
        ) from error
    response = FileResponse(
        opened, as_attachment=True, filename=row.name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _run(request: HttpRequest, reference: str, pk: int) -> EngagementRun:
    run = access.run_for(request.user, reference, pk)
    if run.purpose != EngagementRun.Purpose.ACCEPTANCE or record_of(run) is None:
        raise Http404("No such run.")
    return run


def _page(request: HttpRequest, reference: str, pk: int, *, up: str, url: str) -> HttpResponse:
    run = _run(request, reference, pk)
    dispute = run.disputes.first()
    if dispute is not None:
        dispute.engagement = run.engagement
    forms = {
        "raise": RaiseForm(run=run),
        "message": MessageForm(),
        "repeat": RepeatForm(run=run, is_expert=_is_expert(dispute)),
        "decide": DecideForm(),
        "reimburse": ReimburseForm(),
    }
    status = 200
    if request.method == "POST":
        act = request.POST.get("act", "")
        if act not in ACTS or (act != "raise" and dispute is None):
            raise Http404("No such act.")
        form = _bound(act, request, run, dispute)
        with errors_shown(request, form):
            if form is None or form.is_valid():
                _perform(act, run, dispute, form.cleaned_data if form else {}, actor(request))
                messages.success(request, "Saved.")
                return redirect(url, reference, pk)
        forms, status = {**forms, act: form}, UNPROCESSABLE
    context = {
        "engagement": run.engagement,
        "run": run,
        "record": record_of(run),
        "dispute": dispute,
        "up_url": reverse(up, args=[reference, pk]),
        "url": reverse(url, args=[reference, pk]),
        "forms": forms,
        "blocking_error": services.blocking_error(run),
        "last_day": services.last_day(run),
        **_rights(dispute, run, actor(request)),
    }
    return render(request, "disputes/dispute.html", context, status=status)


def _rights(
    dispute: MeasurementDispute | None, run: EngagementRun, user: User
) -> dict[str, object]:
    """The actions of the page that `user` may take."""
    is_consultant = access.is_consultant(user)
    may_act = is_consultant or access.may_sign(user, run.engagement.customer)
    if dispute is None:
        return {"may_act": may_act}
    mine = "consultancy" if is_consultant else "customer"
    return {
        "may_act": may_act,
        "may_withdraw": may_act and dispute.party == mine,
        "may_upload": may_act and (dispute.repeater == "expert" or not is_consultant),
        "may_release": is_consultant and dispute.is_open and not dispute.source_released_at,
        "may_decide": is_consultant
        and dispute.proposed_by_id != user.pk
        and not services.awaits_source(dispute)
        and timezone.localdate() > services.repeat_awaited_until(dispute),
        "asks_for_source": dispute.is_open
        and not is_consultant
        and services.awaits_source(dispute),
        "is_finance": access.is_finance(user),
        "charge": dispute.charges.filter(state__in=LIVE).first(),
        "may_charge": dispute.cost_bearer == MeasurementDispute.Party.CUSTOMER,
        "may_book": access.is_finance(user)
        and not second_person.is_missing(
            by=user, others=[dispute.booking_proposed_by_id], subject=dispute.subject
        ),
        "awaited_until": services.repeat_awaited_until(dispute),
    }


def _is_expert(dispute: MeasurementDispute | None) -> bool:
    return dispute is not None and dispute.repeater == MeasurementDispute.Repeater.EXPERT


def _bound(
    act: str, request: HttpRequest, run: EngagementRun, dispute: MeasurementDispute | None
) -> Any:
    """The submitted form of an act; None for one without a form."""
    made: dict[str, Callable[[], Any]] = {
        "raise": lambda: RaiseForm(request.POST, run=run),
        "message": lambda: MessageForm(request.POST, request.FILES),
        "repeat": lambda: RepeatForm(
            request.POST, request.FILES, run=run, is_expert=_is_expert(dispute)
        ),
        "decide": lambda: DecideForm(request.POST),
    }
    return made[act]() if act in made else None


def _perform(
    act: str,
    run: EngagementRun,
    dispute: MeasurementDispute | None,
    values: dict[str, Any],
    by: User,
) -> None:
    if act == "raise":
        services.raise_dispute(run=run, by=by, **values)
        return
    assert dispute is not None  # checked by the page
    if act == "message":
        services.write(dispute=dispute, by=by, **values)
    elif act == "withdraw":
        services.withdraw(dispute=dispute, by=by)
    elif act == "release":
        services.release_source(dispute=dispute, by=by)
    elif act == "decide":
        services.decide(dispute=dispute, note=values["note"], by=by)
    else:
        repeats.upload(
            dispute=dispute,
            content=values["record"].read(limits().record_bytes + 1),
            cost=values["cost"],
            cost_payer=values.get("cost_payer", ""),
            by=by,
        )
