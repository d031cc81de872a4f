"""Attempts: number the acceptance runs of a contract, and end the work with the final one."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.models import Verdict
from engagements import access
from engagements.common.errors import ApplicationError
from engagements.common.ratios import agreed
from engagements.contracts import versions
from engagements.contracts.milestones.services import release
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.waiting import stops
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.runs import postings
from engagements.runs.estimates import binding_estimate
from engagements.runs.models import EngagementRun
from engagements.runs.outcomes import (
    Outcome,
    Situation,
    counts_inconclusive,
    outcome_of,
)
from engagements.runs.pairs import Decision, Measured, measured_by, of_both
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.dispute_models import Dispute
from engagements.settlements.models import Settlement


def acceptance_runs(engagement: Engagement) -> QuerySet[EngagementRun]:
    """The acceptance runs of an engagement."""
    return engagement.runs.filter(purpose=EngagementRun.Purpose.ACCEPTANCE)


def disqualifications(engagement: Engagement) -> int:
    """How many attempts were disqualified."""
    counted = acceptance_runs(engagement).filter(attempt__isnull=False)
    return counted.filter(
        Q(repeat_verdict=Verdict.DISQUALIFIED) | Q(repeat_verdict="", decision=Verdict.DISQUALIFIED)
    ).count()


def measured(run: EngagementRun) -> Measured:
    """The decision of all measurements of a concluded acceptance run."""
    contract = run.contract_version
    assert contract is not None  # an acceptance run names its contract
    found = [measured_by(each.run, float(contract.target)) for each in run.both]
    if len(found) == 2:
        return of_both(*found)
    if run.run.measured_by and found[0].decision == Decision.CRASHED:
        # No signed record shows that it crashed on the customer's machine.
        return Measured(Decision.FAILED)
    return found[0]


def situation_of(run: EngagementRun, *, today: date | None = None) -> Situation:
    """Read the situation of an acceptance run from the database."""
    engagement, contract = run.engagement, run.contract_version
    assert contract is not None  # an acceptance run names its contract
    found = measured(run)
    day = today or timezone.localdate()
    rows = acceptance_runs(engagement).values_list(
        "pk", "attempt", "is_noise_repeat", "decision", "repeat_verdict"
    )
    others = [_Other(*row) for row in rows if row[0] != run.pk]
    earlier = [each for each in others if each.pk < run.pk]
    counted = [each for each in earlier if each.attempt is not None]
    is_ended = engagement.stage != Stage.ACTIVE
    is_past = run.final_at is None and run.concluded_at is not None
    return Situation(
        verdict=run.repeat_verdict or found.decision,
        is_noise=found.is_noise and not run.repeat_verdict,
        today=day,
        last_day=time_box.ends_on(engagement),
        attempts=contract.acceptance_runs,
        attempts_before=len(counted),
        repeats=contract.noise_repeats,
        repeats_before=sum(each.is_noise_repeat for each in earlier),
        counts_inconclusive=counts_inconclusive(contract),
        is_final=run.final_at is not None,
        is_paused=not is_ended and _is_paused(engagement, day),
        has_offer=not is_ended
        and engagement.contracts.filter(state=ContractVersion.State.OFFERED).exists(),
        is_disputed=_is_disputed(engagement),
        disqualified_before=sum(each.verdict == Verdict.DISQUALIFIED for each in counted),
        is_past=is_past and (is_ended or len(others) > len(earlier)),
        is_terminated=engagement.stage == Stage.TERMINATED,
    )


class _Other(NamedTuple):
    pk: int
    attempt: int | None
    is_noise_repeat: bool
    decision: str
    repeat_verdict: str

    @property
    def verdict(self) -> str:
        return self.repeat_verdict or self.decision


def _is_paused(engagement: Engagement, day: date) -> bool:
    contract = versions.contract_in_force(engagement)
    agreed = list(contract.pauses.all()) if contract else []
    every: list[time_box.Stop] = [*agreed, *stops(engagement, agreed, today=day)]
    return any(each.starts_on <= day <= each.ends_on for each in every)


def _is_disputed(engagement: Engagement) -> bool:
    disputed = Dispute.objects.filter(
        settlement__contract_version__engagement=engagement, resolved_at__isnull=True
    )
    return disputes.is_measurement_disputed(engagement) or disputed.exists()


def outcome_of_run(run: EngagementRun) -> Outcome:
    """The outcome of an acceptance run, as pages and the report show it."""
    return outcome_of(situation_of(run))


def decide(engagement: Engagement, contract: ContractVersion, run: EngagementRun) -> None:
    """Apply the outcome of a run to its engagement, both under the engagement's lock.

    Saves the run's attempt, decision and conclusion.
    """
    outcome = outcome_of(situation_of(run))
    run.attempt, run.is_noise_repeat = outcome.attempt, outcome.repeats_noise
    if outcome.stage != Stage.ACTIVE:
        run.final_at = run.concluded_at
    run.save(update_fields=["attempt", "is_noise_repeat", "decision", "concluded_at", "final_at"])
    if run.decision == Verdict.DISQUALIFIED:
        _record_disqualified(engagement, run, outcome)
    if outcome.stage == Stage.MET:
        meet(engagement, contract, run)
    elif outcome.stage == Stage.MISSED:
        settlements.create_proposal(
            engagement=engagement, contract=contract, reason=Settlement.Reason.MISSED
        )


@transaction.atomic
def declare_final(*, run: EngagementRun, by: User) -> EngagementRun:
    """Declare the last attempt final, for the consultancy: the settlement is proposed.

    Idempotent. Declined for an attempt before the last, and while a run is in progress.
    """
    engagement = stages.locked(run.engagement_id)
    access.require_consultant(by)
    row = EngagementRun.objects.select_related("contract_version", "run__solution").get(pk=run.pk)
    if row.final_at is not None:
        return row
    row.engagement = engagement
    stages.require_stage(engagement, Stage.ACTIVE, to="for an attempt to be final")
    error = blocking_error(row)
    if error:
        raise error
    row.final_at, row.declared_final_by = timezone.now(), by
    row.save(update_fields=["final_at", "declared_final_by"])
    events.record(
        engagement=engagement,
        verb="run.declared_final",
        summary=f"The consultancy declared attempt {row.attempt} final.",
        actor=by,
        changes={"run": row.pk},
        for_customer=True,
    )
    contract = versions.contract_in_force(engagement)
    assert contract is not None  # an active engagement has one
    settlements.create_proposal(
        engagement=engagement, contract=contract, reason=Settlement.Reason.MISSED, by=by
    )
    return row


def blocking_error(run: EngagementRun) -> ApplicationError | None:
    """Why a run cannot be declared final, or None."""
    if run.attempt is None:
        return ApplicationError(
            "This run is not an attempt, so it cannot be final.", code="run.no_attempt"
        )
    later = Q(concluded_at__isnull=True) | Q(attempt__gt=run.attempt)
    if acceptance_runs(run.engagement).filter(later).exists():
        return ApplicationError(
            "Only the last attempt can be final, once no run is in progress.",
            code="run.not_last_attempt",
        )
    return None


def _record_disqualified(engagement: Engagement, run: EngagementRun, outcome: Outcome) -> None:
    events.record(
        engagement=engagement,
        verb="run.disqualified",
        summary=f"The kernel of an acceptance run broke the rules of the benchmark. {outcome.text}",
        actor=None,
        changes={"run": run.pk, "attempt": run.attempt},
        for_customer=True,
    )


def meet_by_repeat(engagement: Engagement, contract: ContractVersion, run: EngagementRun) -> None:
    """Apply a met repeat of a disputed attempt, under the engagement's lock: it is final."""
    if run.attempt is not None:
        run.final_at = timezone.now()
        run.save(update_fields=["final_at"])
    meet(engagement, contract, run)


def recount(run: EngagementRun, contract: ContractVersion) -> None:
    """Count the attempts again, under the lock, after a repeat replaced the verdict of `run`.

    Later attempts keep their order. A run that stops being an attempt stops being final. It
    becomes no attempt beyond those of the contract.
    """
    rows = list(acceptance_runs(run.engagement).filter(concluded_at__isnull=False).order_by("pk"))
    counts = outcome_of(situation_of(run)).attempt is not None
    counted = [row for row in rows if (counts if row.pk == run.pk else row.attempt is not None)]
    if counts == (run.attempt is not None) or len(counted) > contract.acceptance_runs:
        return
    if not counts:
        run.attempt = run.final_at = run.declared_final_by = None
        run.save(update_fields=["attempt", "final_at", "declared_final_by"])
    numbered = list(enumerate(counted, start=1))
    # Each number is free when it is taken.
    for number, row in reversed(numbered) if counts else numbered:
        if row.attempt != number:
            changed = run if row.pk == run.pk else row
            changed.attempt = number
            changed.save(update_fields=["attempt"])


def ends_the_work(run: EngagementRun) -> bool:
    """Whether a final attempt that the repeat did not confirm leaves no attempt and no time."""
    situation = situation_of(run)
    is_over = situation.today > situation.last_day
    return is_over or (run.attempt or 0) >= situation.attempts


def meet(engagement: Engagement, contract: ContractVersion, run: EngagementRun) -> None:
    """Move a locked engagement to met: release its milestones and recognise the fee."""
    estimate = binding_estimate(run)
    events.record(
        engagement=engagement,
        verb="engagement.met",
        summary=f"The target of {agreed(contract.target)} was met"
        f"{f': measured {estimate.text}' if estimate else ''}.",
        actor=None,
        changes={**stages.move(engagement, Stage.MET), "run": run.pk},
        for_customer=True,
    )
    release(contract=contract)
    postings.target_met(contract, dated_on=timezone.localdate())
