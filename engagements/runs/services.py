"""Request runs in an engagement, and apply their verdicts to the contract."""

from __future__ import annotations

from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark, Record, Run, SigningKey, Solution, Verdict
from benchmarks.services import runs as measuring
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.common.ratios import measured
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.runs import attempts, eligibility
from engagements.runs.models import EngagementRun
from engagements.runs.pairs import Decision
from engagements.runs.places import Place, measured_by
from engagements.runs.summary import record_of

Purpose = EngagementRun.Purpose


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
    contract, chosen = eligibility.contract_and_benchmark(row, purpose, benchmark)
    where = eligibility.place(row, purpose, contract, place)
    asked = EngagementRun(
        engagement=row,
        contract_version=contract,
        purpose=purpose,
        requested_by=by,
        commit=commit,
    )
    try:
        asked.run = measuring.request(
            benchmark=chosen,
            solution=solution,
            request_key=request_key,
            customer_nonce=customer_nonce,
            measured_by=measured_by(where, row.customer),
        )
        if where == Place.BOTH:
            asked.counterpart = _counterpart(asked)
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    validation.save_validated(asked)
    _record_request(row, asked, solution, chosen)
    return asked


def _counterpart(asked: EngagementRun) -> EngagementRun:
    """Request the customer's measurement of an acceptance run. Raises BenchmarkError."""
    run = asked.run
    other = EngagementRun(
        engagement=asked.engagement,
        contract_version=asked.contract_version,
        purpose=Purpose.COUNTERPART,
        requested_by=asked.requested_by,
        commit=asked.commit,
        run=measuring.request(
            benchmark=run.benchmark,
            solution=run.solution,
            request_key=uuid5(run.request_key, Purpose.COUNTERPART),
            measured_by=measured_by(Place.CUSTOMER, asked.engagement.customer),
        ),
    )
    validation.save_validated(other)
    return other


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


@transaction.atomic
def cancel(*, run: EngagementRun, by: User) -> None:
    """End a run that is not concluded; one that has ended stays as it is.

    An acceptance run that is being measured is not cancelled: its estimate is visible, and an
    attempt cannot be withdrawn because it is going badly.
    """
    row = stages.locked(run.engagement_id)
    access.require_consultant(by)
    asked = run.request
    # Under the locks of the runs, so that none starts in between.
    for each in asked.both:
        each.run = Run.objects.select_for_update().select_related("solution").get(pk=each.run_id)
    if not may_be_cancelled(asked):
        raise ApplicationError(
            "This acceptance run has started and cannot be cancelled. Wait for its verdict.",
            code="run.acceptance_running",
        )
    cancelled = [measuring.cancel(run_id=each.run_id, by=str(by)) for each in asked.both]
    if any(cancelled):
        events.record(
            engagement=row,
            verb="run.cancelled",
            summary=f"The run of {asked.run.solution.name} was cancelled.",
            actor=by,
            changes={"run": asked.pk},
            for_customer=asked.purpose == Purpose.ACCEPTANCE,
        )


def may_be_cancelled(run: EngagementRun) -> bool:
    """Whether a run may be cancelled: not an acceptance run of which a measurement has started."""
    asked = run.request
    waiting = all(each.run.state == Run.State.QUEUED for each in asked.both)
    return asked.purpose == Purpose.TRIAL or waiting


@transaction.atomic
def conclude(*, run: EngagementRun) -> EngagementRun:
    """Apply the verdict of a concluded run to its contract, once.

    `met` releases the milestones that wait for it. Another verdict is an attempt, which proposes
    the settlement only as the last one. See `outcomes`. Where both parties measure, the second of
    them to end concludes both runs: see `pairs`.
    """
    engagement = stages.locked(run.engagement_id)
    row = EngagementRun.objects.select_related(
        "run__solution", "contract_version__engagement", "counterpart__run"
    ).get(pk=run.request.pk)
    if row.concluded_at:
        return row
    ended = [each for each in row.both if each.run.is_concluded]
    if not ended:
        raise ApplicationError(
            "This run is still in progress. Wait for its verdict.", code="run.in_progress"
        )
    row.engagement = engagement
    if ended == row.both:
        _conclude(engagement, row)
    return row


def _conclude(engagement: Engagement, row: EngagementRun) -> None:
    row.concluded_at = timezone.now()
    if row.counterpart is not None:
        row.counterpart.concluded_at = row.concluded_at
        row.counterpart.save(update_fields=["concluded_at"])
    if row.purpose == Purpose.ACCEPTANCE:
        row.decision = attempts.measured(row).decision
    # `cancel` has recorded its own event.
    if not row.run.cancelled_by:
        _record_outcome(engagement, row)
    contract = row.contract_version
    if row.purpose == Purpose.ACCEPTANCE:
        if record_of(row) is not None:
            enqueue("issue_document", "benchmark_report", f"run:{row.pk}")
        assert contract is not None  # an acceptance run names its contract
        contract.engagement = engagement
        if engagement.stage == Stage.ACTIVE and contract.state == ContractVersion.State.ACCEPTED:
            attempts.decide(engagement, contract, row)
            return
    row.save(update_fields=["concluded_at", "decision"])


@transaction.atomic
def review_runs_signed_by(key: SigningKey) -> None:
    """Record in every engagement that the key behind its `met` was revoked, for review."""
    signed = Q(run__record__signed_by=key) | Q(counterpart__run__record__signed_by=key)
    met = Q(decision=Verdict.MET) | Q(decision="", run__record__verdict=Verdict.MET)
    runs = EngagementRun.objects.filter(signed, met, purpose=Purpose.ACCEPTANCE)
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


def _record_outcome(engagement: Engagement, run: EngagementRun) -> None:
    is_acceptance = run.purpose == Purpose.ACCEPTANCE
    noun = f"The {'acceptance' if is_acceptance else 'trial'} run of {run.run.solution.name}"
    changes: dict[str, object] = {"run": run.pk}
    # The reason may name machines and paths, so customers do not see it.
    failed = [each.run for each in run.both if each.run.state == Run.State.FAILED]
    causes = ", ".join(each.get_failure_code_display() for each in failed)
    if failed:
        changes["failure_code"] = " ".join(each.failure_code for each in failed)
        changes["failure_reason"] = " ".join(each.failure_reason for each in failed)
    record = record_of(run)
    if record is not None:
        changes |= {"verdict": run.decision or record.verdict, "record": record.digest}
    ended = f"failed: {causes}" if record is None else f"ended: {_figures(run)}"
    events.record(
        engagement=engagement,
        verb="run.failed" if failed else "run.concluded",
        summary=f"{noun} {ended}.",
        actor=None,
        changes=changes,
        for_customer=is_acceptance,
    )


def _figures(run: EngagementRun) -> str:
    """The verdict with its figures; of two measurements the decision, and what each found."""
    if run.counterpart is None:
        return _figures_of(record_of(run))
    ours, theirs = (_figures_of(record_of(each)) for each in run.both)
    decided = Decision(run.decision).label.lower()
    return f"{decided}. The consultancy measured {ours}; {run.engagement.customer} {theirs}"


def _figures_of(record: Record | None) -> str:
    if record is None:
        return "nothing"
    verdict = Verdict(record.verdict).label.lower()
    if record.ratio is None or record.low is None or record.high is None:
        return verdict
    return f"{verdict}, {measured(record.ratio)} ({record.low:.2f} to {record.high:.2f})"
