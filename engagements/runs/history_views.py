"""The history of runs, as a page, a table and a badge, and two runs side by side.

The workbench shows every run, the portal acceptance runs: `access` decides. `side` comes from the
address.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_safe

from engagements import access
from engagements.benchmark.models import Side
from engagements.benchmark.sources import differences
from engagements.common.integers import whole
from engagements.common.ratios import measured
from engagements.common.tables import as_csv
from engagements.engagement.models import Engagement
from engagements.page_access import consultant_page, portal_page
from engagements.runs.history import ZOOMS, History, history_of
from engagements.runs.models import EngagementRun
from engagements.runs.profiles import compute_profile_of, side_by_side
from engagements.runs.summary import record_of, verdict_of

ROUTES = {Side.CONSULTANCY: "run", Side.CUSTOMER: "portal-run"}
_HEAD = ("run", "requested", "candidate", "commit", "purpose", "verdict", "ratio", "low", "high")
_BADGE_SALT = "engagements.runs.badge"


@require_safe
def show(request: HttpRequest, reference: str, side: Side) -> HttpResponse:
    """Show the ratios on one benchmark; `workload`, `benchmark` and `last` choose what is drawn."""
    engagement = access.engagement_for(request.user, reference)
    history, benchmarks = _history(request, engagement)
    page, badge_url = ROUTES[side], reverse("run-badge", args=[badge_token(engagement)])
    context = {
        "engagement": engagement,
        "history": history,
        "benchmarks": benchmarks,
        "zooms": ZOOMS,
        "last": request.GET.get("last", ""),
        "run_page": page,
        "csv_url": reverse(f"{page}-history-csv", args=[reference]),
        "compare_url": reverse(f"{page}-compare", args=[reference]),
        "badge_url": badge_url,
        "badge_address": f"{settings.SITE_ADDRESS}{badge_url}",
        "up": reverse(
            "engagement" if side == Side.CONSULTANCY else "portal-engagement", args=[reference]
        ),
    }
    return render(request, "runs/history.html", context)


@require_safe
def table(request: HttpRequest, reference: str, side: Side) -> HttpResponse:
    """Download the history as CSV, with a line for each run."""
    engagement = access.engagement_for(request.user, reference)
    history, _ = _history(request, engagement)
    rows = [
        (
            row.run.pk,
            row.run.run.requested_at.date(),
            row.run.run.solution.name,
            row.run.commit,
            row.run.purpose,
            row.verdict,
            *(_decimal(value) for value in (row.ratio, row.low, row.high)),
        )
        for row in (history.rows if history else ())
    ]
    return as_csv(f"{reference}-runs", _HEAD, rows)


@require_safe
def compare(request: HttpRequest, reference: str, side: Side) -> HttpResponse:
    """Show the runs `left` and `right` side by side."""
    runs = [_run(request, reference, name) for name in ("left", "right")]
    left, right = runs
    by_workload = [
        {load["name"]: load for load in run.run.record.summary["workloads"]} for run in runs
    ]
    names = list(dict.fromkeys(name for loads in by_workload for name in loads))
    changes, profiles = [], []
    if side == Side.CONSULTANCY:
        name = right.run.solution.filename
        changes = differences({name: left.run.solution.source}, {name: right.run.solution.source})
        profiles = [(run, compute_profile_of(run)) for run in runs]
    context = {
        "engagement": left.engagement,
        "runs": [(run, verdict_of(run), run.run.record) for run in runs],
        "same_benchmark": left.run.benchmark_id == right.run.benchmark_id,
        "workloads": [(name, [loads.get(name) for loads in by_workload]) for name in names],
        "changes": changes,
        "profiles": profiles,
        "kernels": side_by_side(*(profile for _, profile in profiles)) if profiles else [],
        "heads": [f"Run {run.pk}" for run in runs],
        "shows_source": side == Side.CONSULTANCY,
        "run_page": ROUTES[side],
        "up": reverse(f"{ROUTES[side]}-history", args=[reference]),
    }
    return render(request, "runs/compare.html", context)


def badge_token(engagement: Engagement) -> str:
    """The part of a badge's address that cannot be guessed."""
    return signing.dumps(engagement.reference, salt=_BADGE_SALT)


@require_safe
def badge(request: HttpRequest, token: str) -> HttpResponse:
    """Draw the verdict and ratio of the newest acceptance run, for everyone with the address."""
    try:
        reference = signing.loads(token, salt=_BADGE_SALT)
    except signing.BadSignature:
        raise Http404("No such badge.") from None
    newest = (
        EngagementRun.objects.filter(
            engagement__reference=reference,
            purpose=EngagementRun.Purpose.ACCEPTANCE,
            run__record__isnull=False,
        )
        .select_related("run__record")
        .first()
    )
    verdict = verdict_of(newest) if newest else ""
    record = record_of(newest) if newest else None
    ratio = record.ratio if record else None
    text = f"{verdict} {measured(ratio)}" if ratio is not None else verdict or "not measured"
    response = render(
        request,
        "runs/badge.svg",
        {"text": text, "verdict": verdict},
        content_type="image/svg+xml; charset=utf-8",
    )
    # A verdict is shown as soon as it is known.
    response["Cache-Control"] = "no-cache"
    response["Content-Security-Policy"] = "default-src 'none'"
    return response


def urls_of(side: Side) -> list[URLPattern]:
    """The pages of one side, below its engagement."""
    guard = consultant_page if side == Side.CONSULTANCY else portal_page
    page, given = ROUTES[side], {"side": side}
    return [
        path("history/", guard(show), given, name=f"{page}-history"),
        path("history/runs.csv", guard(table), given, name=f"{page}-history-csv"),
        path("history/compare/", guard(compare), given, name=f"{page}-compare"),
    ]


def _history(request: HttpRequest, engagement: Engagement) -> tuple[History | None, list[Any]]:
    """The history of the chosen benchmark, or of the newest run's, and all benchmarks."""
    runs = access.rows_for(request.user, "EngagementRun").filter(engagement=engagement)
    measured_runs = runs.filter(run__record__isnull=False).order_by("-pk")
    pairs = measured_runs.values_list("run__benchmark_id", "run__benchmark__name")
    benchmarks = list(dict(pairs).items())
    chosen = request.GET.get("benchmark", "")
    known = {str(pk): pk for pk, _ in benchmarks}
    if not known:
        return None, []
    pk = known.get(chosen, benchmarks[0][0])
    last = request.GET.get("last", "")
    history = history_of(
        runs.filter(run__benchmark=pk),
        workload=request.GET.get("workload", ""),
        last=int(last) if last in map(str, ZOOMS) else None,
    )
    return history, benchmarks


def _run(request: HttpRequest, reference: str, name: str) -> EngagementRun:
    """The measured run that a parameter names; 404 for others."""
    wanted = whole(request.GET.get(name, ""))
    if wanted is None:
        raise Http404("Choose two runs of the history.")
    run = access.run_for(request.user, reference, wanted)
    if record_of(run) is None:
        raise Http404("This run has no record.")
    return run


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(f"{value:.4f}")
