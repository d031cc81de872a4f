"""Which contract, benchmark and place a requested run has, and why it cannot be requested."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from benchmarks.models import Benchmark
from engagements.benchmark.queries import require_usable
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.runs import notices
from engagements.runs.models import EngagementRun
from engagements.runs.places import Place, has_runner

Purpose = EngagementRun.Purpose
TRIAL_STAGES = (Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.ACTIVE)


def contract_and_benchmark(
    engagement: Engagement, purpose: str, benchmark: Benchmark | None
) -> tuple[ContractVersion | None, Benchmark]:
    """Return the contract of the requested run, if any, and the benchmark to measure."""
    if purpose == Purpose.ACCEPTANCE:
        contract = _contract_in_time_box(engagement)
        return contract, contract.benchmark
    if purpose != Purpose.TRIAL:
        raise ApplicationError(
            f"Unknown purpose of a run: {purpose!r}.", code="run.unknown_purpose"
        )
    stages.require_stage(engagement, *TRIAL_STAGES, to="for a trial run")
    newest = engagement.contracts.select_related("benchmark").order_by("-number").first()
    if newest and benchmark in (None, newest.benchmark):
        return newest, newest.benchmark
    if benchmark is None:
        raise ApplicationError("Seal a benchmark first.", code="run.no_benchmark")
    require_usable(engagement, benchmark)
    return None, benchmark


def _contract_in_time_box(engagement: Engagement) -> ContractVersion:
    stages.require_stage(engagement, Stage.ACTIVE, to="for an acceptance run")
    box = TimeBox.objects.get(engagement=engagement)
    today = timezone.localdate()
    if today < box.starts_on:
        raise ApplicationError(
            f"The time-box starts on {in_words(box.starts_on)}. Request a trial run until then.",
            code="run.before_time_box",
        )
    if today > box.ends_on:
        raise ApplicationError(
            f"The time-box ended on {in_words(box.ends_on)}.", code="run.after_time_box"
        )
    if versions.open_acceptance_run(engagement):
        raise ApplicationError(
            "An acceptance run is already in progress.", code="run.acceptance_in_progress"
        )
    contract = versions.contract_in_force(engagement)
    assert contract is not None  # an active engagement has one
    # Only after a disagreement: any other last attempt ends the work.
    if engagement.runs.filter(attempt__isnull=False).count() >= contract.acceptance_runs:
        raise ApplicationError(
            "All acceptance runs of the contract are used up.", code="run.attempts_used_up"
        )
    if settings.TWOFOLD_REQUIRED_CALIBRATION and not contract.benchmark.document["calibration"]:
        raise ApplicationError(
            "The contract's benchmark has no calibrated baseline. Calibrate it on the agreed "
            "machine, seal the result, and amend the contract.",
            code="run.benchmark_not_calibrated",
        )
    notices.require(engagement, contract)
    return contract


def place(
    engagement: Engagement, purpose: str, contract: ContractVersion | None, place: str | None
) -> Place:
    """Where the run is measured. On the customer's side it needs a runner that may claim it."""
    agreed = Place.HOUSE
    if purpose == Purpose.ACCEPTANCE and contract is not None:
        agreed = Place(contract.place)
        if place not in (None, agreed):
            raise ApplicationError(
                "The contract says where acceptance runs are measured.", code="run.place"
            )
    if place is not None and place not in Place.values:
        raise ApplicationError(f"Unknown place of a run: {place!r}.", code="run.unknown_place")
    where = Place(place or agreed)
    if purpose == Purpose.TRIAL and where == Place.BOTH:
        raise ApplicationError(
            "A trial is measured by one party. Choose one.", code="run.trial_of_both"
        )
    if where != Place.HOUSE and not has_runner(engagement.customer):
        raise ApplicationError(
            f"{engagement.customer} has no runner that was started. Ask them to start one.",
            code="run.no_runner",
        )
    return where
