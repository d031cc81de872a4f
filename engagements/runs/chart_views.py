"""Charts of a record with their titles and captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engagements import charts
from engagements.charts import describe
from engagements.charts.responses import addresses
from engagements.runs.models import EngagementRun


@dataclass(frozen=True)
class Picture:
    """A kind of chart with its title, caption, drawing function and alt text."""

    draw: Callable[..., str]
    tell: Callable[[Mapping[str, Any]], str]
    title: str
    caption: str


PICTURES: dict[str, Picture] = {
    "interval": Picture(
        charts.ratio_interval,
        describe.ratio_interval,
        "Ratio against the target",
        "End to end and by workload, each with its interval.",
    ),
    "distribution": Picture(
        charts.ratio_distribution,
        describe.ratio_distribution,
        "Every round",
        "The ratio of each interleaved pair, replicate by replicate.",
    ),
    "workloads": Picture(
        charts.workload_bars,
        describe.workload_bars,
        "Time of one end-to-end call",
        "Baseline and candidate by workload. Shorter is faster.",
    ),
    "roofline": Picture(
        charts.roofline,
        describe.roofline,
        "The operator alone",
        "Arithmetic against memory traffic, without the rest of the step.",
    ),
}


def of(run: EngagementRun, record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the charts that the record has data for, as contexts of the fragment."""
    if record["summary"]["ratio"] is None:
        return []
    names = [name for name in PICTURES if name != "roofline" or record.get("operator")]
    return [_figure(run, record, name) for name in names]


def _figure(run: EngagementRun, record: Mapping[str, Any], name: str) -> dict[str, str]:
    picture = PICTURES[name]
    return {
        **addresses("run-picture", run.engagement.reference, run.pk, name),
        "alt": picture.tell(record),
        "title": picture.title,
        "caption": picture.caption,
    }
