"""Request runs in an engagement, and apply their verdicts to the contract."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark, Record, Run, SigningKey, Solution, Verdict
from benchmarks.services import runs as measuring
from engagements import access
from engagements.benchmark.queries import require_usable
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.common.ratios import measured
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.runs import attempts, notices
from engagements.runs.models import EngagementRun
from engagements.runs.places import Place, has_runner, measured_by

Purpose = EngagementRun.Purpose
TRIAL_STAGES = (Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.ACTIVE)


@transaction.atomic
def request(
    *,
    engagement: Engagement,
    solution: Solution,
    purpose: str,
    request_key: UUID,
    by: User,
    benchmark: Benchmark | None = None,
    customer_nonce: str = "",
    place: str | None = None,
    commit: str = "",
) -> EngagementRun:
    """Request a run. A repeated `request_key` returns the same run.

    A trial run has no effect on the contract and is allowed from the audit on; it uses `benchmark`,
    or the newest contract's. An acceptance run decides the contract: it uses the contract's
    benchmark, inside the time-box, one at a time. The record must contain `customer_nonce`, a value
    from the customer, so that they know it was measured after they gave it. `place` is where a
    trial is measured, by default on the consultancy's machines; the contract says it of the others.
    `commit` names the candidate's source where it comes from git.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    known = EngagementRun.objects.select_related("run").filter(run__request_key=request_key).first()
    if known:
        requested = (known.engagement_id, known.purpose, known.run.solution_id)
        if requested != (row.pk, purpose, solution.pk):
            raise ApplicationError(
                "This form was already used for another run. Reload the page.",
                code="run.key_reused",
            )
        return known
    contract, chosen = _contract_and_benchmark(row, purpose, benchmark)
    where = _place(row, purpose, contract, place)
    try:
        run = measuring.request(
            benchmark=chosen,
            solution=solution,
            request_key=request_key,
            customer_nonce=customer_nonce,
            measured_by=measured_by(where, row.customer),
        )
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    asked = EngagementRun(
        engagement=row,
        run=run,
        contract_version=contract,
        purpose=purpose,
        requested_by=by,
        commit=commit,
    )
    validation.save_validated(asked)
    _record_request(row, asked, solution, chosen)
    return asked


def _place(
    engagement: Engagement, purpose: str, contract: ContractVersion | None, place: str | None
) -> str:
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
    where = place or agreed
    if where == Place.CUSTOMER and not has_runner(engagement.customer):
        raise ApplicationError(
            f"{engagement.customer} has no runner that was started. Ask them to start one.",
            code="run.no_runner",
        )
    return where


def _record_request(
    engagement: Engagement, asked: EngagementRun, solution: Solution, benchmark: Benchmark
) -> None:
    is_acceptance = asked.purpose == Purpose.ACCEPTANCE
    events.record(
        engagement=engagement,
        verb="run.requested",
        summary=f"{'An acceptance run' if is_acceptance else 'A trial run'} of {solution.name} "
        f"on {benchmark.name} was requested.",
        actor=asked.requested_by,
        changes={"run": asked.pk, "solution": solution.digest, "benchmark": benchmark.digest},
        for_customer=is_acceptance,
    )


def _contract_and_benchmark(
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
    if settings.TWOFOLD_REQUIRED_CALIBRATION and not contract.benchmark.document["calibration"]:
        raise ApplicationError(
            "The contract's benchmark has no calibrated baseline. Calibrate it on the agreed "
            "machine, seal the result, and amend the contract.",
            code="run.benchmark_not_calibrated",
        )
    notices.require(engagement, contract)
    return contract


@transaction.atomic
def cancel(*, run: EngagementRun, by: User) -> None:
    """End a run that is not concluded; one that has ended stays as it is.

    An acceptance run that is being measured is not cancelled: its estimate is visible, and an
    attempt cannot be withdrawn because it is going badly.
    """
    row = stages.locked(run.engagement_id)
    access.require_consultant(by)
    # Under the run's lock, so that it does not start in between.
    run.run = Run.objects.select_for_update().select_related("solution").get(pk=run.run_id)
    if not may_be_cancelled(run):
        raise ApplicationError(
            "This acceptance run has started and cannot be cancelled. Wait for its verdict.",
            code="run.acceptance_running",
        )
    if measuring.cancel(run_id=run.run_id, by=str(by)):
        events.record(
            engagement=row,
            verb="run.cancelled",
            summary=f"The run of {run.run.solution.name} was cancelled.",
            actor=by,
            changes={"run": run.pk},
            for_customer=run.purpose == Purpose.ACCEPTANCE,
        )


def may_be_cancelled(run: EngagementRun) -> bool:
    """Whether a run may be cancelled: not an acceptance run that has started."""
    return run.purpose == Purpose.TRIAL or run.run.state != Run.State.RUNNING


@transaction.atomic
def conclude(*, run: EngagementRun) -> EngagementRun:
    """Apply the verdict of a concluded run to its contract, once.

    `met` releases the milestones that wait for it. Another verdict is an attempt, which proposes
    the settlement only as the last one. See `outcomes`.
    """
    engagement = stages.locked(run.engagement_id)
    row = EngagementRun.objects.select_related("run__solution", "contract_version__engagement").get(
        pk=run.pk
    )
    if row.concluded_at:
        return row
    if not row.run.is_concluded:
        raise ApplicationError(
            "This run is still in progress. Wait for its verdict.", code="run.in_progress"
        )
    row.engagement = engagement
    record = Record.objects.filter(run=row.run).first()
    # `cancel` has recorded its own event.
    if not row.run.cancelled_by:
        _record_outcome(engagement, row, record)
    if row.purpose == Purpose.ACCEPTANCE and record is not None:
        enqueue("issue_document", "benchmark_report", f"run:{row.pk}")
        contract = row.contract_version
        assert contract is not None  # an acceptance run names its contract
        contract.engagement = engagement
        if engagement.stage == Stage.ACTIVE and contract.state == ContractVersion.State.ACCEPTED:
            attempts.decide(engagement, contract, row, record)
            return row
    row.concluded_at = timezone.now()
    row.save(update_fields=["concluded_at"])
    return row


@transaction.atomic
def review_runs_signed_by(key: SigningKey) -> None:
    """Record in every engagement that the key behind its `met` was revoked, for review."""
    runs = EngagementRun.objects.filter(
        purpose=Purpose.ACCEPTANCE, run__record__signed_by=key, run__record__verdict=Verdict.MET
    )
    for run in runs.select_related("engagement", "run__solution").order_by("engagement", "pk"):
        events.record(
            engagement=stages.locked(run.engagement_id),
            verb="run.key_revoked",
            summary=f"The key that signed the met acceptance run of {run.run.solution.name} was "
            "revoked. Review the verdict: repeat the run, or have the record countersigned.",
            actor=None,
            changes={"run": run.pk, "key": key.key_id},
            for_customer=True,
        )


def _record_outcome(engagement: Engagement, run: EngagementRun, record: Record | None) -> None:
    is_acceptance = run.purpose == Purpose.ACCEPTANCE
    noun = f"The {'acceptance' if is_acceptance else 'trial'} run of {run.run.solution.name}"
    changes: dict[str, object] = {"run": run.pk}
    if record is None:
        # The reason may name machines and paths, so customers do not see it.
        summary = f"{noun} failed."
        changes["failure_reason"] = run.run.failure_reason
    else:
        summary = f"{noun} ended: {_figures(record)}."
        changes |= {"verdict": record.verdict, "record": record.digest}
    events.record(
        engagement=engagement,
        verb="run.failed" if run.run.state == Run.State.FAILED else "run.concluded",
        summary=summary,
        actor=None,
        changes=changes,
        for_customer=is_acceptance,
    )


def _figures(record: Record) -> str:
    verdict = Verdict(record.verdict).label.lower()
    if record.ratio is None or record.low is None or record.high is None:
        return verdict
    return f"{verdict}, {measured(record.ratio)} ({record.low:.2f} to {record.high:.2f})"
