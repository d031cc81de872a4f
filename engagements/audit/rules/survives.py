"""Check 4: will the kernel survive a model change?

Compares the kernel's lifetime with the weeks of work, and the payback of the fee with both.
"""

from __future__ import annotations

import shlex
from decimal import Decimal

from engagements.audit.rules import gain
from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.finding import Finding, Missing, Source
from engagements.audit.rules.gain import Gain, Payback, payback
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.lives import Life, LifeFigures, life
from engagements.audit.rules.phrases import capital, listed, money, times_each, weeks

NAME = "survives"

ROADMAP = Missing(what="The planned models with dates, and the axes of the operator that change.")
WORK = Missing(what="The weeks of work and the fee.")
BILL = Missing(what="The monthly cost of the workload's GPU time.")


def find(inputs: AuditInputs) -> Finding:
    """Compare lifetime with work, then payback with the end of the lifetime."""
    lasts, lines = life(inputs), inputs.thresholds
    wanted = f"{lines.life_over_work:g} weeks of use per week of work, and payback of the fee"
    if lasts is None or inputs.work is None:
        return _unknown(inputs, wanted)
    expected = gain.expected(inputs)
    returns = payback(inputs, expected)
    remaining = lasts.weeks - inputs.work.value.weeks
    wanted_weeks = lines.life_over_work * inputs.work.value.weeks
    outcome = _outcome(inputs, remaining, returns)
    figures = _figures(inputs, lasts, remaining, expected, returns)
    return Finding(
        check=NAME,
        outcome=outcome,
        value=remaining,
        threshold=wanted_weeks,
        unit="weeks of use",
        shown=_shown(lasts, remaining),
        wanted=wanted,
        sentence=_sentence(outcome, lasts, figures, wanted_weeks),
        paragraph=_paragraph(inputs, lasts, figures, expected),
        evidence=_evidence(inputs, lasts, expected),
        to_collect=(_speedup(inputs),)
        if outcome == Outcome.UNKNOWN
        else _would_help(inputs, expected),
        questions=_questions(inputs, lasts, returns),
        figures=figures,
    )


def _unknown(inputs: AuditInputs, wanted: str) -> Finding:
    missing = [ROADMAP] if life(inputs) is None else []
    missing += [WORK] if inputs.work is None else []
    return Finding(
        check=NAME,
        outcome=Outcome.UNKNOWN,
        wanted=wanted,
        sentence="We do not know yet whether the kernel would last long enough to pay for itself.",
        paragraph=(
            "The check compares lifetime with work, so it requires the plans for the model and an "
            "estimate of the work."
        ),
        to_collect=tuple(missing),
        questions=(
            "When does the model change, and which parts of the kernel remain useful then?",
        ),
    )


def _outcome(inputs: AuditInputs, remaining: float, returns: Payback | None) -> Outcome:
    """Fail on too short a lifetime; otherwise decide by the payback, at both its ends."""
    assert inputs.work is not None
    if remaining < inputs.thresholds.life_over_work * inputs.work.value.weeks:
        return Outcome.FAIL
    if returns is None:
        return Outcome.PASS
    soonest, latest = returns.weeks
    if soonest is None or soonest > remaining:
        return Outcome.FAIL
    return Outcome.PASS if latest is not None and latest <= remaining else Outcome.UNKNOWN


def _figures(
    inputs: AuditInputs,
    lasts: Life,
    remaining: float,
    expected: Gain | None,
    returns: Payback | None,
) -> LifeFigures:
    assert inputs.work is not None
    work, bill = inputs.work.value, inputs.gpu_bill.value if inputs.gpu_bill else None
    return LifeFigures(
        life_weeks=lasts.weeks,
        is_open_ended=lasts.is_open_ended,
        work_weeks=work.weeks,
        remaining_weeks=remaining,
        changes=lasts.changes,
        fee=work.fee,
        currency=work.currency,
        bill_a_month=bill.amount_a_month if bill else None,
        end_to_end=expected.end_to_end if expected else None,
        saved_a_month=returns.saved_a_month if returns else None,
        payback_weeks=returns.weeks if returns else None,
    )


def _shown(lasts: Life, remaining: float) -> str:
    if lasts.is_open_ended:
        return f"at least {weeks(remaining)} of use"
    return f"{weeks(max(0.0, remaining))} of use"


def _sentence(outcome: Outcome, lasts: Life, figures: LifeFigures, wanted_weeks: float) -> str:
    remaining, work = weeks(max(0.0, figures.remaining_weeks)), weeks(figures.work_weeks)
    ending = f" before {lasts.ended_by}" if lasts.ended_by else ""
    if figures.remaining_weeks <= 0:
        return f"The kernel would take {work} of work, longer than its model remains in use."
    returns = figures.payback_weeks
    if outcome == Outcome.UNKNOWN:
        return (
            f"After {work} of work it would be used for {remaining}{ending}: the payback in that "
            "time depends on the actual gain."
        )
    if outcome == Outcome.FAIL and returns is not None and returns[0] is None:
        return "There are no savings, so the fee is never paid back."
    if outcome == Outcome.FAIL:
        late = f"the fee is repaid after {weeks(returns[0])}." if returns and returns[0] else ""
        text = f"{work} of work for {remaining} of use{ending}"
        if figures.remaining_weeks >= wanted_weeks:
            return f"{text}: {late}"
        return f"{text}: too short. {capital(late)}".rstrip()
    back = " The payback of the fee is unknown."
    if returns and returns[1]:
        back = f" The fee is repaid after {weeks(returns[1])} at the latest."
    return f"After {work} of work it remains useful for {remaining} or more.{back}"


def _paragraph(
    inputs: AuditInputs, lasts: Life, figures: LifeFigures, expected: Gain | None
) -> str:
    lines = [lasts.reason]
    lines.append(
        f"{weeks(lasts.weeks)} of life less {weeks(figures.work_weeks)} of work leave "
        f"{weeks(max(0.0, figures.remaining_weeks))} of use; "
        f"{weeks(inputs.thresholds.life_over_work * figures.work_weeks)} are required."
    )
    for change in figures.changes:
        parts = [f"{listed(change.free)} may have any size"] if change.free else []
        parts += (
            [f"the kernel is tuned for the size of {listed(change.tuned)}"] if change.tuned else []
        )
        parts += [f"the Definition has no {listed(change.foreign)}"] if change.foreign else []
        said = "; ".join(parts) or "no axis of the operator changes"
        lines.append(f"{change.name} in {weeks(max(0.0, change.weeks_away))}: {said}.")
    if figures.saved_a_month and figures.currency and expected and figures.fee is not None:
        saved = [money(amount, figures.currency) for amount in figures.saved_a_month]
        lines.append(
            f"At {times_each(expected.end_to_end)} end to end ({expected.basis}) the GPU bill is "
            f"{' to '.join(dict.fromkeys(saved))} a month lower; the fee of "
            f"{money(figures.fee, figures.currency)} {_after(figures)}."
        )
    else:
        lines.append("Without fee, GPU bill and speedup the payback cannot be computed.")
    return " ".join(lines)


def _after(figures: LifeFigures) -> str:
    soonest, latest = figures.payback_weeks or (None, None)
    if soonest is None:
        return "is never repaid"
    if latest is None:
        return f"is repaid after {weeks(soonest)} at best, or never"
    ends = dict.fromkeys((weeks(soonest), weeks(latest)))
    return f"is repaid after {' to '.join(ends)}"


def _evidence(inputs: AuditInputs, lasts: Life, expected: Gain | None) -> tuple[Source, ...]:
    sources = list(lasts.sources)
    sources += [known.source for known in (inputs.work, inputs.gpu_bill) if known is not None]
    sources += expected.sources if expected else ()
    return tuple(dict.fromkeys(sources))


def _would_help(inputs: AuditInputs, expected: Gain | None) -> tuple[Missing, ...]:
    """Return evidence missing for the payback that does not affect the outcome."""
    missing = [BILL] if inputs.gpu_bill is None else []
    missing += [WORK] if inputs.work is not None and inputs.work.value.fee is None else []
    return tuple(missing) if expected is not None else (*missing, _speedup(inputs))


def _speedup(inputs: AuditInputs) -> Missing:
    operator = shlex.quote(inputs.needs.value.definition) if inputs.needs else "OPERATOR"
    return Missing(
        what="A measured prototype on the operator's shapes, for a narrower interval of the "
        "speedup.",
        command=f"python -m kernels measure {operator}",
    )


def _questions(inputs: AuditInputs, lasts: Life, returns: Payback | None) -> tuple[str, ...]:
    asked = []
    changed = [change for change in lasts.changes if change.free or change.ends_the_kernel]
    if changed:
        asked.append(f"How does the kernel run on {changed[0].name}, and who adapts it?")
    if returns is None or returns.weeks[1] is None:
        asked.append("At which speedup and saving is the fee repaid, and when?")
    return tuple(asked)


CHECK = Check(
    name=NAME,
    question="Will it survive a model change?",
    why=(
        "A kernel for a model that is replaced next quarter depreciates in weeks. The lifetime of "
        "the operation counts."
    ),
    reason=("Models change. A kernel that the next model cannot use loses its value."),
    vendor_question="Which parts of it survive a change of the model or the GPU?",
    value_label="Lifetime of the kernel",
    value_hint="a time, such as 18 months.",
    consultant=Meanings(
        passed="The operation outlives the next model change, or the change is far off.",
        failed="The operation disappears with a model that will soon be replaced.",
        unknown="The customer's model plans are not known yet.",
    ),
    customer=Meanings(
        passed="The kernel remains useful beyond your next model.",
        failed="The kernel would be obsolete too soon to pay for itself.",
        unknown="We do not yet know your plans for the model.",
    ),
    quantity=Quantity("months", "weeks?|months?|quarters?|years?", low=Decimal(0)),
    asks_people=True,
    find=find,
)
