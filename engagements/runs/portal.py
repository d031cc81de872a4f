"""Runs in the customer portal: live status, then the result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.models import Run
from engagements import access, charts
from engagements.access import actor
from engagements.charts import describe
from engagements.charts.responses import addresses, known_theme
from engagements.page_access import portal_page
from engagements.people.models import User
from engagements.runs import bundles, ceilings, controls, operator_account, record_files
from engagements.runs.estimates import estimate_of
from engagements.runs.explanations import explain, failure_of
from engagements.runs.labels import PHASE_LABELS, RUN_LABELS, state_of
from engagements.runs.live import live_of
from engagements.runs.measured import measured_words
from engagements.runs.models import EngagementRun
from engagements.runs.sides import sides_of
from engagements.runs.summary import record_of, verdict_of

# name: (drawing function, alt text, title, caption)
CHARTS = {
    "workloads": (
        charts.workload_bars,
        describe.workload_bars,
        "Time by workload",
        "Time per step by workload. Shorter is faster.",
    ),
    "distribution": (
        charts.ratio_distribution,
        describe.ratio_distribution,
        "Every comparison",
        "Every comparison of the run, by replicate.",
    ),
}
FILES = ("record.json", "benchmark.json", "candidate")
# htmx swaps the content and stops polling.
STOP_POLLING = 286


@portal_page
@require_safe
def run_page(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Show an acceptance run, live or measured, and how to repeat it."""
    run = _run(request, reference, pk)
    return render(request, "runs/portal_run.html", {**_live(run), **_measured(run, actor(request))})


@portal_page
@require_safe
def run_live(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Render the live fragment; render the whole page and stop polling once the run has ended."""
    run = _run(request, reference, pk)
    if run.run.is_concluded:
        context = {**_live(run), **_measured(run, actor(request))}
        response = render(request, "runs/_portal_run.html", context)
        response.status_code = STOP_POLLING
        response["HX-Retarget"], response["HX-Reswap"] = "#run", "outerHTML"
    else:
        response = render(request, "runs/_portal_live.html", _live(run))
    response["Cache-Control"] = "no-store"
    return response


@portal_page
@require_safe
def run_chart(
    request: HttpRequest, reference: str, pk: int, chart: str, theme: str
) -> HttpResponseBase:
    """Draw a chart of the run as SVG."""
    run = _run(request, reference, pk)
    if chart not in CHARTS:
        raise Http404("No such chart.")
    wanted = known_theme(theme)
    draw, *_ = CHARTS[chart]
    return record_files.picture(
        request, run, named=f"{chart}/{wanted}", draw=partial(draw, theme=wanted)
    )


@portal_page
@require_safe
def run_file(request: HttpRequest, reference: str, pk: int, name: str) -> HttpResponse:
    """Download the record, the benchmark or the candidate."""
    run = _run(request, reference, pk)
    record = record_of(run)
    if name not in FILES or record is None:
        raise Http404("No such file.")
    kind, with_source = "application/json", bundles.may_have_source(run=run, by=actor(request))
    if name == "record.json":
        content = record_files.content(run, with_source=with_source)
    elif name == "benchmark.json":
        content = bytes(run.run.benchmark.canonical)
    elif not with_source:
        raise Http404(bundles.WITHHELD)
    else:
        content, kind = run.run.solution.source.encode(), "text/plain; charset=utf-8"
        name = _candidate_name(run)
    response = HttpResponse(content, content_type=kind)
    filename = f"{run.engagement.reference}-run-{run.pk}-{name}"
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def _candidate_name(run: EngagementRun) -> str:
    """Return the file name of the candidate, with its suffix."""
    return f"candidate{PurePosixPath(run.run.solution.filename).suffix}"


def _run(request: HttpRequest, reference: str, pk: int) -> EngagementRun:
    """Return an acceptance run that this user may see. Trials are not shown in the portal."""
    run = access.run_for(request.user, reference, pk)
    if run.purpose == EngagementRun.Purpose.TRIAL:
        raise Http404("No such run.")
    return run


def _live(run: EngagementRun) -> dict[str, Any]:
    progress = run.run.progress if run.run.state == Run.State.RUNNING else {}
    return {
        "engagement": run.engagement,
        "engagement_run": run,
        "run": run.run,
        "state": RUN_LABELS[state_of(run.run)],
        "live": None if run.run.is_concluded else live_of(run.run),
        "phase": PHASE_LABELS.get(str(progress.get("phase")), "In progress"),
        "live_url": reverse("portal-run-live", args=[run.engagement.reference, run.pk]),
        "sides": sides_of(run),
        "failure": failure_of(run),
    }


def _measured(run: EngagementRun, by: User) -> dict[str, Any]:
    record = record_of(run)
    if record is None:
        return {"record": None}
    estimate = estimate_of(run)
    explained = explain(run, record.summary)
    data, damage = record_files.read(run) if estimate else (None, "")
    alone = operator_account.alone(data) if data else []
    return {
        "record": record,
        "verdict_label": explained.headline,
        "shown_verdict": verdict_of(run) or "running",
        "explained": explained,
        "measured": measured_words(estimate) if estimate else None,
        "summary": record.summary,
        "document": run.run.benchmark.document,
        "damage": damage,
        "pictures": _pictures(run, data) if data else [],
        "alone": alone,
        "alone_excess": operator_account.excess(alone),
        "exceeded": ceilings.exceeded(run.engagement, data) if data else "",
        "controls": controls.of(data) if data else None,
        "file_base": f"{run.engagement.reference}-run-{run.pk}",
        "candidate_name": _candidate_name(run),
        "withheld": "" if bundles.may_have_source(run=run, by=by) else bundles.WITHHELD,
    }


def _pictures(run: EngagementRun, data: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {
            "alt": words(data),
            "title": title,
            "caption": caption,
            **addresses("portal-run-chart", run.engagement.reference, run.pk, name),
        }
        for name, (_, words, title, caption) in CHARTS.items()
    ]
