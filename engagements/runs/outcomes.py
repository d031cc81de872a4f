"""The outcome of an acceptance run: its effect on stage, money and next step.

One pure function, `outcome_of`, decides it. The services apply it, and page, portal and report
show its words. tests/engagements/runs/test_outcomes.py walks the table.

    verdict            counts as an attempt          ends the work
    met                yes                           yes: the target is met
    missed             yes                           as the last or final attempt
    inconclusive       as the contract says          as the last or final attempt
      for noise        no, up to `noise_repeats`     no
    disqualified       yes                           as the last or final attempt
    crashed            yes                           as the last or final attempt
    disagreed          yes                           only if declared final
    invalid, failed    no                            no

An attempt that does not end the work decides nothing; the time-box ends it otherwise. Where the
contract was terminated first, only a repeat that meets the target decides anything: it undoes
the termination. Noise alone
left a run inconclusive where its interval excludes the target (`explanations.is_noise`); with the
target inside its interval the run is inconclusive on a quiet machine too, and counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from benchmarks.models import Verdict
from engagements.common.dates import in_words
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.runs.pairs import Decision

FAILED = Decision.FAILED
DISAGREED = Decision.DISAGREED
DISQUALIFICATIONS_FOR_CAUSE = 2
REFUND = "Payments of the fee are refunded, less the cost of the audit."


class Money(StrEnum):
    """The effect of an outcome on the money."""

    NONE = "none"
    RELEASED = "released"
    SETTLED = "settled"
    AFTER_TIME_BOX = "after_time_box"
    ON_HOLD = "on_hold"
    TERMINATED = "terminated"


@dataclass(frozen=True)
class Situation:
    """An acceptance run under its contract, on the day `today`.

    `verdict` is a Decision, or the verdict of a repeat. `attempts_before` and `repeats_before`
    count earlier runs. `is_final`: the consultancy declared the attempt final. `is_past`: something
    else has ended the work since, or a later run was requested. `has_offer`: an amendment is on
    offer. `is_terminated`: the contract was terminated since.
    """

    verdict: str
    today: date
    last_day: date
    attempts: int = 3
    attempts_before: int = 0
    repeats: int = 2
    repeats_before: int = 0
    counts_inconclusive: bool = True
    is_noise: bool = False
    is_final: bool = False
    is_paused: bool = False
    has_offer: bool = False
    is_disputed: bool = False
    disqualified_before: int = 0
    is_past: bool = False
    is_terminated: bool = False


@dataclass(frozen=True)
class Outcome:
    """The effects of a run. `attempt` is its number among those that count; None where it does not.

    `repeats_noise`: it is repeated for noise. `headline` is the verdict with its consequence in a
    few words, `text` the consequence in sentences.
    """

    stage: Stage
    money: Money
    attempt: int | None
    repeats_noise: bool
    headline: str
    text: str


def outcome_of(situation: Situation) -> Outcome:
    """Decide an acceptance run."""
    repeats_noise = _repeats_noise(situation)
    attempt = situation.attempts_before + 1 if _counts(situation, repeats_noise) else None
    stage = _stage(situation, attempt)
    if situation.is_terminated and stage != Stage.MET:
        stage = Stage.TERMINATED
    money = _money(situation, stage)
    return Outcome(
        stage=stage,
        money=money,
        attempt=attempt,
        repeats_noise=repeats_noise,
        headline=headline(situation.verdict, attempt, repeats_noise=repeats_noise),
        text=" ".join(_sentences(situation, stage, money, attempt, repeats_noise=repeats_noise)),
    )


def _repeats_noise(situation: Situation) -> bool:
    return (
        situation.verdict == Verdict.INCONCLUSIVE
        and situation.is_noise
        and situation.counts_inconclusive
        and situation.repeats_before < situation.repeats
    )


def _counts(situation: Situation, repeats_noise: bool) -> bool:
    if situation.verdict == Verdict.INCONCLUSIVE:
        return situation.counts_inconclusive and not repeats_noise
    return situation.verdict in _COUNTING


def _stage(situation: Situation, attempt: int | None) -> Stage:
    if attempt is None:
        return Stage.ACTIVE
    if situation.verdict == Verdict.MET:
        return Stage.MET
    is_last = attempt >= situation.attempts and situation.verdict != DISAGREED
    is_last |= situation.is_final
    return Stage.MISSED if is_last else Stage.ACTIVE


def _money(situation: Situation, stage: Stage) -> Money:
    if stage == Stage.MET:
        return Money.RELEASED
    if stage == Stage.TERMINATED:
        return Money.TERMINATED
    if situation.is_past:
        return Money.NONE
    is_over = situation.today > situation.last_day
    if situation.is_disputed and (stage == Stage.MISSED or is_over):
        return Money.ON_HOLD
    if stage == Stage.MISSED:
        return Money.SETTLED
    return Money.AFTER_TIME_BOX if is_over else Money.NONE


_COUNTING = frozenset(
    (Decision.MET, Decision.MISSED, Decision.DISQUALIFIED, Decision.CRASHED, DISAGREED)
)
_LABELS: dict[str, str] = {
    Verdict.MET: "Target met",
    Verdict.MISSED: "Target missed",
    Verdict.DISQUALIFIED: "Disqualified: counts as an attempt",
    Verdict.INVALID: "Invalid: does not count",
    DISAGREED: "The measurements disagree: counts as an attempt",
    Decision.CRASHED: "Crashed: counts as an attempt",
    FAILED: "Failed: does not count",
}


def headline(verdict: str, attempt: int | None, *, repeats_noise: bool) -> str:
    """The verdict with its consequence in a few words."""
    if verdict != Verdict.INCONCLUSIVE:
        return _LABELS[verdict]
    if attempt is not None:
        return "Inconclusive: counts as missed"
    return f"Inconclusive: {'repeated for noise' if repeats_noise else 'does not count'}"


def _sentences(
    situation: Situation,
    stage: Stage,
    money: Money,
    attempt: int | None,
    *,
    repeats_noise: bool,
) -> list[str]:
    said = [_place(situation, attempt, repeats_noise=repeats_noise)]
    if stage == Stage.MET:
        return [*said, "The milestones that wait for the target are released."]
    if situation.verdict == Verdict.DISQUALIFIED:
        said.append(_disqualified(situation))
    if situation.verdict == DISAGREED:
        said.append("Either party may dispute the run; a repeat then decides.")
    if stage == Stage.MISSED:
        if situation.is_final and attempt != situation.attempts:
            said.append("The consultancy declared it final.")
        said.append(f"The target counts as missed. {REFUND}")
    elif stage == Stage.TERMINATED:
        said.append(_terminated(situation))
    elif situation.is_past:
        said.append("It decided nothing.")
    else:
        said.append(_next(situation, attempt))
    if money == Money.ON_HOLD:
        said.append("The result is disputed, so the settlement waits.")
    return said


def _place(situation: Situation, attempt: int | None, *, repeats_noise: bool) -> str:
    if attempt is not None:
        return f"This was attempt {attempt} of {situation.attempts}."
    if repeats_noise:
        repeat = situation.repeats_before + 1
        return f"The machine was too noisy: repeat {repeat} of {situation.repeats}, no attempt."
    return "This run uses up no attempt."


def _disqualified(situation: Situation) -> str:
    if situation.disqualified_before + 1 < DISQUALIFICATIONS_FOR_CAUSE:
        return "The kernel broke the rules of the benchmark."
    return (
        "A kernel broke the rules of the benchmark again: the customer may end the contract for "
        "cause."
    )


def _terminated(situation: Situation) -> str:
    text = (
        "The contract was terminated: released milestones stay due, with the part of the fee that "
        "the contract names, and no settlement is made."
    )
    if not situation.is_disputed:
        return text
    return f"{text} The result is disputed: a repeat that meets the target undoes the termination."


def _next(situation: Situation, attempt: int | None) -> str:
    if situation.today > situation.last_day:
        unless = ", unless the amendment on offer adds time" if situation.has_offer else ""
        return f"The time-box has ended without a met target: the settlement follows{unless}."
    if attempt == situation.attempts:
        until = in_words(situation.last_day)
        text = f"It was the last one: without a met target the settlement follows after {until}."
    elif situation.today == situation.last_day:
        text = "It decides nothing yet: another run may be requested today, the last day."
    else:
        until = in_words(situation.last_day)
        text = f"It decides nothing yet: another run may be requested until {until}."
    return f"{text} The time-box is paused." if situation.is_paused else text


def counts_inconclusive(contract: ContractVersion) -> bool:
    """Whether an inconclusive run uses up an attempt under this contract."""
    return contract.inconclusive == ContractVersion.Inconclusive.MISSED
