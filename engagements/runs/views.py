"""Pages of runs: request one, watch it, read the result."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.functional import SimpleLazyObject
from django.utils.http import quote_etag
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor, may_act
from engagements.benchmark.queries import benchmarks_for
from engagements.charts import responses
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.engagement.models import Stage
from engagements.page_access import consultant_page
from engagements.runs import (
    attempts,
    bundles,
    ceilings,
    controls,
    notices,
    operator_account,
    profile_views,
    record_files,
)
from engagements.runs import chart_views as pictures
from engagements.runs import services as runs
from engagements.runs.explanations import explain, failure_of
from engagements.runs.forms import RunForm
from engagements.runs.labels import RUN_LABELS, state_of
from engagements.runs.live import live_of
from engagements.runs.models import EngagementRun
from engagements.runs.places import has_runner
from engagements.runs.sides import sides_of
from engagements.runs.sources import source_of
from engagements.runs.summary import RunSummary, record_of, run_summary_of, verdict_of
from kernels import catalogue

STOP_POLLING = 286
Purpose = EngagementRun.Purpose


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def request(request: HttpRequest, reference: str) -> HttpResponse:
    """Request a run of a candidate from the catalogue or from a file."""
    summary = run_summary_of(access.engagement_for(request.user, reference))
    form = _form(request, summary)
    status = 200
    if request.method == "POST":
        status = UNPROCESSABLE
        if form.is_valid():
            with errors_shown(request, form):
                asked = _ask(summary, form, request)
                messages.success(request, "The run is queued.")
                return redirect("run", reference, asked.pk)
    context = {
        "engagement": summary.engagement,
        "summary": summary,
        "form": form,
        "may_act": may_act(request),
        "has_open_acceptance": summary.open_acceptance is not None,
        "attempts": summary.attempts_used,
        **_notice(summary),
    }
    return render(request, "runs/request.html", context, status=status)


def _notice(summary: RunSummary) -> dict[str, Any]:
    """The contract's notice of an acceptance run: its days, and the first day for the run."""
    contract = summary.in_force
    if summary.engagement.stage != Stage.ACTIVE or contract is None:
        return {"notice_days": 0}
    return {
        "notice_days": contract.run_notice_days,
        "first_day": notices.first_day(summary.engagement, contract),
    }


def _form(request: HttpRequest, summary: RunSummary) -> RunForm:
    contract = summary.contract
    wanted = contract.benchmark.operator if contract else None
    may_accept = summary.engagement.stage == Stage.ACTIVE and summary.open_acceptance is None
    is_post = request.method == "POST"
    return RunForm(
        request.POST if is_post else None,
        request.FILES if is_post else None,
        operators=[wanted] if wanted else catalogue.operators(),
        # The service declines with the reason; a submitted form keeps its choice.
        may_accept=may_accept or is_post,
        benchmarks=benchmarks_for(summary.engagement),
        has_runner=has_runner(summary.engagement.customer),
        initial={"purpose": EngagementRun.Purpose.TRIAL},
    )


def _ask(summary: RunSummary, form: RunForm, request: HttpRequest) -> EngagementRun:
    contract, chosen = summary.contract, form.cleaned_data["benchmark"]
    benchmark = chosen or (contract.benchmark if contract else None)
    if benchmark is None:
        raise ApplicationError(
            "Choose a benchmark, as there is no contract yet.", code="run.no_benchmark"
        )
    purpose = form.cleaned_data["purpose"]
    return runs.request(
        engagement=summary.engagement,
        solution=form.solution(benchmark.operator),
        purpose=purpose,
        request_key=form.cleaned_data["request_key"],
        customer_nonce=form.cleaned_data["customer_nonce"],
        place=form.cleaned_data.get("place") if purpose == Purpose.TRIAL else None,
        by=actor(request),
        benchmark=chosen,
    )


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Show a run: live status, then the result."""
    run = access.run_for(request.user, reference, pk)
    return render(request, "runs/run.html", _whole(request, run))


@consultant_page
@require_safe
def live(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Render the live fragment; render the whole page and stop polling once the run has ended."""
    run = access.run_for(request.user, reference, pk)
    if not run.run.is_concluded:
        return _fresh(render(request, "runs/_live.html", _context(request, run)))
    response = render(request, "runs/_run.html", _whole(request, run))
    response.status_code = STOP_POLLING
    response["HX-Retarget"], response["HX-Reswap"] = "#run", "outerHTML"
    return _fresh(response)


def _fresh(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response


def _whole(request: HttpRequest, run: EngagementRun) -> dict[str, Any]:
    return _context(request, run) | profile_views.context_of(request, run)


def _context(request: HttpRequest, run: EngagementRun) -> dict[str, Any]:
    record = record_of(run)
    context: dict[str, Any] = {
        "engagement": run.engagement,
        "asked": run,
        "run": run.run,
        "shown_verdict": verdict_of(run),
        "record": record,
        "explained": explain(run, record.summary) if record else None,
        "final_error": attempts.blocking_error(run),
        "may_declare_final": run.engagement.stage == Stage.ACTIVE and run.attempt is not None,
        "document": run.run.benchmark.document,
        "may_act": may_act(request),
        "live": None if run.run.is_concluded else live_of(run.run),
        "may_cancel": may_act(request) and not run.run.is_concluded and runs.may_be_cancelled(run),
        # The live fragment polls and shows no source, which takes long to highlight.
        "source": SimpleLazyObject(partial(source_of, run)),
        "damage": "",
        "state": state_of(run.run),
        "state_label": RUN_LABELS[state_of(run.run)],
        "sides": sides_of(run),
        "failure": failure_of(run),
    }
    if record is None:
        return context
    data, damage = record_files.read(run)
    if data is None:
        return {**context, "damage": damage}
    alone = operator_account.alone(data)
    return {
        **context,
        "data": data,
        "alone": alone,
        "alone_excess": operator_account.excess(alone),
        "exceeded": ceilings.exceeded(run.engagement, data),
        "controls": controls.of(data),
        "pictures": pictures.of(run, data),
    }


@consultant_page
@require_POST
def declare_final(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Declare the last attempt final, which proposes the settlement."""
    run = access.run_for(request.user, reference, pk)
    try:
        attempts.declare_final(run=run, by=actor(request))
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        context = _whole(request, access.run_for(request.user, reference, pk))
        return render(request, "runs/run.html", context, status=UNPROCESSABLE)
    messages.success(request, "The attempt is final. Finance reviews the settlement.")
    return redirect("run", reference, pk)


@consultant_page
@require_POST
def cancel(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Cancel a run that is not concluded."""
    with errors_shown(request):
        runs.cancel(run=access.run_for(request.user, reference, pk), by=actor(request))
    return redirect("run", reference, pk)


@consultant_page
@require_POST
def give_notice(request: HttpRequest, reference: str) -> HttpResponse:
    """Give the customer notice of the next acceptance run."""
    engagement = access.engagement_for(request.user, reference)
    try:
        day = notices.give(engagement=engagement, by=actor(request))
    except APPLICATION_ERRORS as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Request the acceptance run from {in_words(day)}.")
    return redirect("run-request", reference)


@login_required
@require_safe
def picture(
    request: HttpRequest, reference: str, pk: int, name: str, theme: str
) -> HttpResponseBase:
    """Draw a chart of a record as SVG."""
    run = _measured_run(request, reference, pk)
    if name not in pictures.PICTURES:
        raise Http404("No such chart.")
    draw = partial(pictures.PICTURES[name].draw, theme=responses.known_theme(theme))
    return record_files.picture(request, run, named=f"{name}/{theme}", draw=draw)


@login_required
@require_safe
def record(request: HttpRequest, reference: str, pk: int) -> HttpResponseBase:
    """Download the record, with the source if the user may have it."""
    run = _measured_run(request, reference, pk)
    found = record_of(run)
    assert found is not None
    with_source = bundles.may_have_source(run=run, by=actor(request))
    content = record_files.content(run, with_source=with_source)
    response = HttpResponse(content, content_type="application/json")
    name = f"{reference}-run-{run.pk}-record.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["ETag"] = quote_etag(f"{found.digest}/{'whole' if with_source else 'sourceless'}")
    return response


@login_required
@require_safe
def bundle(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Download the archive that repeats the run on another machine."""
    run = _measured_run(request, reference, pk)
    try:
        content = bundles.bundle(run=run, by=actor(request))
    except APPLICATION_ERRORS as error:
        raise Http404(str(error)) from error
    response = HttpResponse(content, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{reference}-run-{run.pk}.zip"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _measured_run(request: HttpRequest, reference: str, pk: int) -> EngagementRun:
    """Return a run with a record that this user may see; 404 otherwise."""
    run = access.run_for(request.user, reference, pk)
    if record_of(run) is None:
        raise Http404("This run has no record.")
    return run
