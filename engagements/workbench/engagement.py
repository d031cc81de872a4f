"""The engagement page: status, next step, closing and cancelling."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access, closing
from engagements.access import actor, may_act
from engagements.billing.milestones import paid_milestones
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.documents import failures
from engagements.engagement.forms import EditForm, ReasonForm
from engagements.engagement.models import Engagement, Stage
from engagements.notifications import mails
from engagements.page_access import consultant_page
from engagements.runs.measured import run_row
from engagements.runs.summary import record_of
from engagements.workbench import opening
from engagements.workbench.next_step import Next, next_step, steps
from engagements.workbench.summary import document_failures_of, documents_of, events_of, summary_of

DECIDED = (Stage.MET, Stage.MISSED, Stage.TERMINATED)
ENDED = (Stage.CLOSED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED)
MAX_BOUNCES = 5
WHY_CANCELLED = "Reason for the cancellation"


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the engagement; `?log=all` shows the full event log."""
    engagement = access.engagement_for(request.user, reference)
    return _page(request, engagement)


@consultant_page
@require_POST
def close(request: HttpRequest, reference: str) -> HttpResponse:
    """Close an engagement that is done, paid and settled."""
    engagement = access.engagement_for(request.user, reference)
    try:
        closing.close(engagement=engagement, by=actor(request))
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return _page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"{engagement.reference} is closed.")
    return redirect("engagement", reference)


@consultant_page
@require_POST
def cancel(request: HttpRequest, reference: str) -> HttpResponse:
    """Cancel an engagement before its verdict, with a reason."""
    engagement = access.engagement_for(request.user, reference)
    form = ReasonForm(request.POST, label=WHY_CANCELLED)
    if form.is_valid():
        with errors_shown(request, form):
            closing.cancel(
                engagement=engagement, reason=form.cleaned_data["reason"], by=actor(request)
            )
            messages.success(request, f"{engagement.reference} is cancelled.")
            return redirect("engagement", reference)
    return _page(request, engagement, cancelling=form, status=UNPROCESSABLE)


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, reference: str) -> HttpResponse:
    """Change title, workload and lead."""
    engagement = access.engagement_for(request.user, reference)
    initial = {name: getattr(engagement, name) for name in ("title", "workload", "lead")}
    form, status = EditForm(request.POST or None, initial=initial), 200
    if request.method == "POST":
        status = UNPROCESSABLE
        if form.is_valid():
            with errors_shown(request, form):
                opening.edit(engagement=engagement, by=actor(request), **form.cleaned_data)
                messages.success(request, "Changes saved.")
                return redirect("engagement", reference)
    context = {"form": form, "engagement": engagement, "may_act": may_act(request)}
    return render(request, "workbench/edit.html", context, status=status)


@consultant_page
@require_POST
def document_again(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Retry a failed document."""
    engagement = access.engagement_for(request.user, reference)
    failure = get_object_or_404(document_failures_of(engagement), pk=pk)
    failures.retry(failure)
    messages.success(request, f"{failure.title} is being retried. Reload the page in a moment.")
    return redirect("engagement", reference)


def _offered(step: Next, request: HttpRequest) -> Next:
    """Return the step without a link that this user may not open."""
    if step.needs_money and not access.sees_money(request.user):
        return replace(step, url=None)
    return step


def _empty_parts(*, has_ended: bool, **parts: object) -> str:
    """Return a sentence that names the parts without content, such as "No audit or runs yet."."""
    empty = [name for name, content in parts.items() if not content]
    if not empty:
        return ""
    *others, last = empty
    names = f"{', '.join(others)} or {last}" if others else last
    return f"No {names}{'' if has_ended else ' yet'}."


def _page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    cancelling: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    summary = summary_of(engagement)
    stage = summary.engagement.stage
    shows_all = request.GET.get("log") == "all"
    run_rows = [run_row(run) for run in summary.runs]
    documents, unmade = documents_of(engagement), document_failures_of(engagement)
    events = events_of(engagement, limit=None) if shows_all else events_of(engagement)
    context = {
        "engagement": summary.engagement,
        "summary": summary,
        "paid_milestones": paid_milestones(summary.milestones),
        "next": _offered(next_step(summary), request),
        "steps": steps(summary),
        "run_rows": run_rows,
        "latest_row": next((row for row in run_rows if record_of(row.run)), None),
        "documents": documents,
        "unmade": unmade,
        "empty_parts": _empty_parts(
            audit=summary.audit,
            contract=summary.contract,
            runs=summary.runs,
            documents=[*documents, *unmade],
            has_ended=stage in ENDED,
        ),
        "events": events,
        "has_more_events": not shows_all and engagement.events.count() > len(events),
        "bounced": mails.bounced(engagement)[:MAX_BOUNCES],
        "may_act": may_act(request),
        "may_close": stage in DECIDED,
        "may_cancel": stage not in (*DECIDED, *ENDED),
        "has_ended": stage in ENDED,
        "is_decided": stage in (*DECIDED, *ENDED),
        "may_request_run": stage == Stage.ACTIVE,
        "cancelling": cancelling or ReasonForm(label=WHY_CANCELLED),
    }
    return render(request, "workbench/engagement.html", context, status=status)
