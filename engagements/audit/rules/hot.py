"""Check 1: is the operation hot?

The share is of wall-clock time, not GPU time: an operator with 60% of GPU busy time is not hot in
a step in which the GPU waits 95% of the time. The finding then names the hottest part.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from engagements.audit.rules import selection, thresholds
from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.collecting import TRACE, TRACE_WITH_GPU
from engagements.audit.rules.figures import Chart, Figures, Interval, Table, facts
from engagements.audit.rules.finding import Finding, Missing, Source
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.phrases import capital, listed, percent, percent_or_not_known, percents
from engagements.audit.rules.selection import Selected, Share
from engagements.audit.rules.thresholds import Thresholds
from engagements.audit.rules.waiting import Wait, waits
from engagements.charts import drawing

NAME = "hot"

# Below this share of wall-clock time kernel work has no measurable end-to-end effect.
LEAST_PERCENT = Decimal(str(thresholds.DEFAULT.least_share)) * 100


def _expects(percent: Decimal) -> Outcome:
    return Outcome.PASS if percent >= LEAST_PERCENT else Outcome.FAIL


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of the wall-clock time. kind: operator, other (on the GPU), or waiting (idle)."""

    name: str
    kind: Literal["operator", "other", "waiting"]
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Stricter:
    """The stricter test of heat: the top tenth of run time, or a tail-latency target missed."""

    outcome: Outcome
    sentence: str


class HotFigures(Figures, Struct, frozen=True, kw_only=True, tag=NAME, tag_field="check"):
    """Wall-clock time by part, largest first; overlapping parts add up to more than 1.

    `waiting_for` describes the longest kind of GPU idle time, None without idle time.
    """

    operator: str
    share_of_wall: Interval
    share_of_gpu: float | None
    gpu_idle_share: float | None
    launch_bound_share: float | None
    waiting_for: str | None
    parts: tuple[Part, ...]
    stricter: Stricter

    def tables(self) -> tuple[Table, ...]:
        """The operator's shares of time."""
        return (
            facts(
                f"The time of {self.operator}",
                ("Share of the wall-clock time", percents(self.share_of_wall)),
                ("Share of the GPU's busy time", percent_or_not_known(self.share_of_gpu)),
                ("The GPU is idle", percent_or_not_known(self.gpu_idle_share)),
                ("The GPU waits for the host", percent_or_not_known(self.launch_bound_share)),
                ("It waits for", self.waiting_for or ""),
                ("The stricter test", self.stricter.sentence),
            ),
        )

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """A bar per part, against the least share; None without parts."""
        if not self.parts:
            return None
        return Chart(
            title="Where the wall-clock time goes",
            caption="Shares of wall-clock time including idle time; overlapping kernels are each "
            "counted in full.",
            alt=self.alt(),
            draw=drawing("engagements.audit.charts.parts", self, thresholds.least_share),
        )

    def alt(self) -> str:
        """Describe the chart as alt text."""
        parts = ", ".join(f"{part.name} {part.share:.1%}" for part in self.parts)
        return f"Of the wall-clock time: {parts}."


def find(inputs: AuditInputs) -> Finding:
    """Compute the operator's share of wall-clock time; overlap counts once, idle time counts."""
    known = selection.share(inputs)
    if known is None:
        return _unknown(inputs)
    lines = inputs.thresholds
    outcome = Outcome.UNKNOWN
    if known.value.low >= lines.least_share:
        outcome = Outcome.PASS
    elif known.value.high < lines.least_share:
        outcome = Outcome.FAIL
    found = selection.selected(inputs)
    figures = _figures(inputs, known, found)
    return Finding(
        check=NAME,
        outcome=outcome,
        value=known.value.low,
        threshold=lines.least_share,
        unit="share of wall-clock time",
        shown=percents(known.value),
        wanted=f"at least {percent(lines.least_share)} of the wall-clock time",
        sentence=_sentence(outcome, figures, lines.least_share),
        paragraph=_paragraph(inputs, figures, found),
        evidence=_evidence(inputs, known),
        to_collect=(_EXACT,) if outcome == Outcome.UNKNOWN else (),
        questions=_questions(inputs, found),
        figures=figures,
    )


_EXACT = Missing(
    what="The exact share of these kernels: choose their pattern, and the profile is read again."
)


def _unknown(inputs: AuditInputs) -> Finding:
    trace = inputs.trace.value if inputs.trace else None
    if trace is None:
        why = "The workload has no profile, and the operator's share was not stated."
        collect = TRACE
    elif trace.gpu_busy_share is None:
        why = "The profile has no GPU activity, so the shares of time are unknown."
        collect = TRACE_WITH_GPU
    else:
        name = inputs.operator.name if inputs.operator else "any operator"
        why = (
            f"The profile has no kernel of {name}: another part of the program was recorded, or "
            "its kernels have other names."
        )
        collect = TRACE
    return Finding(
        check=NAME,
        outcome=Outcome.UNKNOWN,
        wanted=f"at least {percent(inputs.thresholds.least_share)} of the wall-clock time",
        sentence="We do not know yet how much of your time this takes.",
        paragraph=f"{why} Shares of GPU time are not enough: they exclude idle time.",
        evidence=(inputs.trace.source,) if inputs.trace else (),
        to_collect=(collect,),
        questions=("What is its share of the wall-clock time of a step, including idle time?",),
    )


def _figures(inputs: AuditInputs, known: Share, found: Selected | None) -> HotFigures:
    trace = inputs.trace.value if inputs.trace and found else None
    parts: list[Part] = []
    idle: tuple[Wait, ...] = ()
    if trace is not None and found is not None:
        idle = waits(trace)
        parts = [Part(name=found.operator.name, kind="operator", share=known.value.low)]
        parts += [
            Part(name=family.name, kind="other", share=family.share_of_wall)
            for family in trace.families
            if family.name != found.operator.name and not set(family.kernels) & _names(found)
        ]
        parts += [Part(name=wait.reason, kind="waiting", share=wait.share) for wait in idle]
    gaps = trace.gaps if trace else None
    return HotFigures(
        operator=_name(inputs, found),
        share_of_wall=known.value,
        share_of_gpu=found.share_of_gpu if found else None,
        gpu_idle_share=trace.gpu_idle_share if trace else None,
        launch_bound_share=gaps.launch_bound_share if gaps else None,
        waiting_for=idle[0].reason if idle else None,
        parts=tuple(sorted(parts, key=lambda part: -part.share)),
        stricter=_stricter(inputs, known),
    )


def _names(found: Selected) -> set[str]:
    return {kernel.name for kernel in found.kernels}


def _name(inputs: AuditInputs, found: Selected | None) -> str:
    if found is not None:
        return found.operator.name
    return inputs.operator.name if inputs.operator else "the operator"


def _stricter(inputs: AuditInputs, known: Share) -> Stricter:
    """Test for the top tenth of run time, or a missed tail-latency target while it is hot."""
    strict, tail = inputs.thresholds.strict_share, inputs.tail_latency
    if known.value.low >= strict:
        text = f"At {percents(known.value)} it is in the top tenth of the run time."
        return Stricter(outcome=Outcome.PASS, sentence=text)
    if tail is not None and tail.value.target_ms is not None:
        target, measured = tail.value.target_ms, tail.value.measured_ms
        if measured is None:
            text = "The tail-latency target was not measured."
            return Stricter(outcome=Outcome.UNKNOWN, sentence=text)
        if measured > target and known.value.low >= inputs.thresholds.least_share:
            text = (
                f"It is under {percent(strict)}, but {measured:g} ms misses the tail-latency "
                f"target of {target:g} ms, and its share is large enough to matter."
            )
            return Stricter(outcome=Outcome.PASS, sentence=text)
    if known.value.high >= strict:
        text = "The profile does not show whether it is in the top tenth of the run time."
        return Stricter(outcome=Outcome.UNKNOWN, sentence=text)
    text = f"It is under {percent(strict)} of the run time and no tail-latency target is missed"
    text += "." if tail is not None else ", as far as stated."
    return Stricter(outcome=Outcome.FAIL, sentence=text)


def _sentence(outcome: Outcome, figures: HotFigures, least: float) -> str:
    share, name = percents(figures.share_of_wall), capital(figures.operator)
    if outcome == Outcome.UNKNOWN:
        return f"{name} takes {share} of your time, which is too imprecise to decide."
    hottest = _hottest_else(figures)
    if outcome == Outcome.PASS:
        text = f"{name} takes {share} of your time: a faster kernel would be noticeable."
        idle = figures.gpu_idle_share or 0.0
        return f"{text} {hottest}" if hottest and idle > figures.share_of_wall.low else text
    text = f"{name} takes only {share} of your time, under {percent(least)}"
    return (
        f"{text}. {hottest}"
        if hottest
        else f"{text}: even an infinitely fast kernel would not be noticeable."
    )


def _hottest_else(figures: HotFigures) -> str | None:
    """Name the largest other part of the time: GPU waits, or another operator."""
    other = next((part for part in figures.parts if part.kind == "other"), None)
    idle = figures.gpu_idle_share or 0.0
    if figures.waiting_for and idle > (other.share if other else 0.0):
        return f"The GPU waits {percent(idle)} of the time, mostly for {figures.waiting_for}."
    return f"The hottest part is {other.name}, at {percent(other.share)}." if other else None


def _paragraph(inputs: AuditInputs, figures: HotFigures, found: Selected | None) -> str:
    if inputs.trace is None or found is None:
        return (
            f"{percents(figures.share_of_wall)} of the wall-clock time was stated, not measured. "
            f"{figures.stricter.sentence}"
        )
    trace = inputs.trace.value
    lines = [
        f"{percents(figures.share_of_wall)} of {trace.wall_ms:.4g} ms wall-clock time "
        f"({trace.window.definition}); the union of its intervals, so overlap counts once."
    ]
    if figures.share_of_gpu is not None and trace.gpu_busy_share is not None:
        lines.append(
            f"That is {percent(figures.share_of_gpu)} of the time in which the GPU was busy, "
            f"{percent(trace.gpu_busy_share)} of the window."
        )
    idle = [part for part in figures.parts if part.kind == "waiting" and part.share >= 0.01]
    if idle:
        said = [f"{percent(part.share)} for {part.name}" for part in idle]
        lines.append(f"The GPU waited {listed(said)}.")
    others = [part for part in figures.parts if part.kind == "other"][:3]
    if others:
        said = [f"{part.name} {percent(part.share)}" for part in others]
        lines.append(f"Other kernels: {listed(said)}.")
    if trace.overlap_ms > 0.01 * trace.wall_ms:
        lines.append(
            f"{trace.overlap_ms:.3g} ms of device work overlapped other work: speeding up one of "
            "two overlapping kernels does not save that time."
        )
    if found.is_suggested:
        lines.append("No operator was chosen; this is the family with the most time.")
    lines.append(figures.stricter.sentence)
    return " ".join(lines)


def _questions(inputs: AuditInputs, found: Selected | None) -> tuple[str, ...]:
    if inputs.share is None:
        return ()
    if found is None:
        return (
            "Is the share one of wall-clock time, including GPU idle time, and may we see the "
            "profile?",
        )
    stated, seen = inputs.share.value, found.share_of_wall
    if seen.low <= stated <= seen.high or abs(stated - seen.low) <= 0.1 * stated:
        return ()
    return (
        f"The pitch states {percent(stated)} of wall-clock time, the profile shows "
        f"{percents(seen)}: on which workload was the pitch measured?",
    )


def _evidence(inputs: AuditInputs, known: Share) -> tuple[Source, ...]:
    sources = [known.source]
    if inputs.tail_latency is not None:
        sources.append(inputs.tail_latency.source)
    return tuple(dict.fromkeys(sources))


CHECK = Check(
    name=NAME,
    question="Is the operation hot?",
    why=(
        "An operation under 5% of the wall-clock time has no noticeable end-to-end effect, however "
        "fast it becomes. So we profile first."
    ),
    reason=(
        "Only an operator with a large share of the time is worth optimising. Below 5%, the gain "
        "is not noticeable."
    ),
    vendor_question="Is the speedup end to end on our traffic, or of the kernel alone?",
    value_label="Share of the wall-clock time",
    value_hint="a percentage from the profile, such as 38%.",
    consultant=Meanings(
        passed="It takes at least 5% of the wall-clock time, so Amdahl's law leaves room.",
        failed="It takes under 5% of the wall-clock time: even an infinitely fast kernel would not "
        "be noticeable.",
        unknown="No profile of the real traffic yet.",
    ),
    customer=Meanings(
        passed="It takes enough of your time for a faster kernel to be noticeable.",
        failed="It takes too little of your time: even an infinitely fast kernel would not be "
        "noticeable.",
        unknown="We do not know yet how much of your time it takes.",
    ),
    quantity=Quantity("%", "%|per ?cent", low=Decimal(0), high=Decimal(100)),
    expects=_expects,
    find=find,
)
