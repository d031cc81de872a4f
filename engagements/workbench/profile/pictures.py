"""The pictures of the workbench as SVG, each in a light and a dark drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from engagements import access
from engagements.audit.report_views import DRAWING
from engagements.charts import responses
from engagements.charts.palette import Theme
from engagements.charts.responses import addresses, known_theme
from engagements.evidence import charts as evidence_charts
from engagements.page_access import consultant_page
from engagements.workbench.profile.bench import Bench, bench_of


@dataclass(frozen=True)
class Picture:
    """A chart of the workbench: its drawing, alt text, title and caption."""

    draw: Callable[[Bench, Theme], str]
    alt: Callable[[Bench], str]
    title: str
    caption: str


def _timeline(bench: Bench, theme: Theme) -> str:
    return evidence_charts.timeline(bench.trace.facts, theme=theme) if bench.trace else ""


def _shapes(bench: Bench, theme: Theme) -> str:
    if bench.traffic is None:
        return ""
    facts = bench.traffic.facts
    return evidence_charts.shape_curves(facts.curve_of_calls, facts.curve_of_time, theme=theme)


def _profiles(bench: Bench, theme: Theme) -> str:
    return evidence_charts.profiles(bench.compared, theme=theme) if bench.compared else ""


def _shapes_alt(bench: Bench) -> str:
    if bench.traffic is None:
        return ""
    facts = bench.traffic.facts
    return evidence_charts.texts.shape_curves(facts.curve_of_calls, facts.curve_of_time)


PICTURES: dict[str, Picture] = {
    "timeline": Picture(
        _timeline,
        lambda bench: evidence_charts.texts.timeline(bench.trace.facts) if bench.trace else "",
        "Timeline by kernel family",
        "How much of each moment a family kept a device busy, overlap counted once; at the "
        "right its share of the wall-clock time.",
    ),
    "shapes": Picture(
        _shapes,
        _shapes_alt,
        "What the most frequent shapes cover",
        "Cumulative, the most frequent shape first.",
    ),
    "profiles": Picture(
        _profiles,
        lambda bench: evidence_charts.texts.profiles(bench.compared) if bench.compared else "",
        "Two profiles by kernel family",
        "Overlapping kernels of a family are counted once.",
    ),
}


def timeline_data(bench: Bench) -> dict[str, Any] | None:
    """The data that the page's script draws: lanes of busy shares, and the steps; in ms."""
    if bench.trace is None or bench.trace.facts.timeline is None:
        return None
    facts, timeline = bench.trace.facts, bench.trace.facts.timeline
    lanes = [("GPU busy", timeline.busy)]
    lanes += [(name, timeline.families[name]) for name, _ in evidence_charts.texts.lanes_of(facts)]
    return {
        "bucket_ms": timeline.bucket_ms,
        "lanes": [{"name": name, "busy": busy} for name, busy in lanes],
        "kernels": [
            {"buckets": lane.buckets, "busy": lane.busy, "calls": lane.calls}
            for lane in timeline.kernels
        ],
        "steps": [
            {"name": step.name, "from": step.start_ms, "to": step.start_ms + step.wall_ms}
            for step in facts.steps
        ],
    }


def figure(bench: Bench, name: str) -> dict[str, str] | None:
    """The context of the picture fragment; None without a picture."""
    picture = PICTURES[name]
    if not _facts_of(bench, name):
        return None
    reference, query = bench.engagement.reference, _query(bench)
    return {
        **addresses("workbench-picture", reference, name, query=query),
        "alt": picture.alt(bench),
        "title": picture.title,
        "caption": picture.caption,
    }


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str, name: str, theme: str) -> HttpResponseBase:
    """Serve one picture. Its ETag combines the digests of its sources."""
    engagement = access.engagement_for(request.user, reference)
    if name not in PICTURES:
        raise Http404("No such picture.")
    in_theme = known_theme(theme)
    bench = bench_of(engagement, request.GET.dict())
    of = f"{DRAWING} {name} {theme} {_facts_of(bench, name)}"
    return responses.as_file(request, of=of, draw=lambda: PICTURES[name].draw(bench, in_theme))


def _query(bench: Bench) -> str:
    shown = {"profile": bench.trace, "against": bench.against, "log": bench.traffic}
    pairs = [f"{name}={read.row.pk}" for name, read in shown.items() if read is not None]
    return f"?{'&'.join(pairs)}" if pairs else ""


def _facts_of(bench: Bench, name: str) -> str:
    """The digests of the sources of a picture; "" where it cannot be drawn."""
    match name:
        case "timeline":
            has_any = bench.trace is not None and bench.trace.facts.timeline is not None
            sources = [bench.trace] if has_any else []
        case "profiles":
            sources = [bench.trace, bench.against] if bench.compared else []
        case _:
            return bench.traffic.row.digest if bench.traffic else ""
    return " ".join(read.row.digest for read in sources if read is not None)
