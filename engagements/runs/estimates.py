"""The newest measured ratio of engagements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.models import Record
from engagements.common.ratios import with_interval
from engagements.engagement.models import Engagement
from engagements.runs.models import EngagementRun
from engagements.runs.summary import verdict_of


@dataclass(frozen=True)
class Estimate:
    """The newest measured ratio of an engagement, with its interval and run.

    Of two measurements the consultancy's; `verdict` is that of both, "" until they have ended.
    """

    run: EngagementRun
    ratio: float
    low: float
    high: float
    target: float
    verdict: str

    @property
    def text(self) -> str:
        """The ratio with its interval, as in "2.61× (2.52× to 2.70×)"."""
        return with_interval(self.ratio, self.low, self.high)


def latest_estimates(engagement_ids: Iterable[int]) -> dict[int, Estimate]:
    """Return the newest record with a ratio, by engagement id."""
    runs = (
        EngagementRun.objects.filter(
            engagement_id__in=list(engagement_ids), run__record__ratio__isnull=False
        )
        .exclude(purpose=EngagementRun.Purpose.COUNTERPART)
        .select_related("run__record")
        .order_by("engagement_id", "-run__record__received_at")
        .distinct("engagement_id")
    )
    found = {run.engagement_id: binding_estimate(run) for run in runs}
    return {key: estimate for key, estimate in found.items() if estimate is not None}


def estimate_of(run: EngagementRun) -> Estimate | None:
    """Return the estimate of a run; None without a ratio."""
    record: Record = run.run.record
    if record.ratio is None or record.low is None or record.high is None:
        return None
    return Estimate(
        run=run,
        ratio=record.ratio,
        low=record.low,
        high=record.high,
        target=float(record.summary["target"]),
        verdict=verdict_of(run),
    )


def binding_estimate(run: EngagementRun) -> Estimate | None:
    """Return the estimate that binds: of the repeat that replaced the verdict, else of the run."""
    if not run.repeat_verdict:
        return estimate_of(run)
    repeat = run.disputes.select_related("repetition").get(state="replaced").repetition
    assert repeat is not None  # a constraint
    if repeat.ratio is None or repeat.low is None or repeat.high is None:
        return None
    return Estimate(
        run=run,
        ratio=repeat.ratio,
        low=repeat.low,
        high=repeat.high,
        target=float(run.run.record.summary["target"]),
        verdict=run.repeat_verdict,
    )


def latest_acceptance(engagement: Engagement) -> Estimate | None:
    """Return the estimate of the newest measured acceptance run."""
    run = (
        engagement.runs.filter(
            purpose=EngagementRun.Purpose.ACCEPTANCE, run__record__ratio__isnull=False
        )
        .select_related("run__record", "engagement")
        .order_by("-run__record__received_at")
        .first()
    )
    return binding_estimate(run) if run else None
