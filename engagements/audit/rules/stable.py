"""Check 3: are the shapes stable?

Tests the share of calls and of time in the most frequent shapes, the effective number of shapes,
and the drift between start and end of the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from msgspec import Struct

from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.collecting import TRAFFIC
from engagements.audit.rules.figures import NOT_KNOWN, Chart, Figures, Table, table
from engagements.audit.rules.finding import Finding
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.phrases import capital, listed, percent
from engagements.audit.rules.thresholds import Thresholds
from engagements.charts import drawing
from engagements.evidence.charts.texts import shape_curves
from engagements.evidence.readers.facts import Curve, TrafficFacts

NAME = "stable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A condition of stability; `holds` is None where it could not be tested."""

    name: str
    value: float | None
    threshold: float
    holds: bool | None


class ShapeFigures(Figures, Struct, frozen=True, kw_only=True, tag=NAME, tag_field="check"):
    """The distribution of the traffic over shapes."""

    conditions: tuple[Condition, ...]
    shapes_for_calls: dict[str, int]
    shapes_for_time: dict[str, int] | None
    effective_shapes: float
    distinct_shapes: int
    tail_share_of_time: float | None
    drift_distance: float | None
    drift_new_share: float | None
    curve_of_calls: Curve
    curve_of_time: Curve | None

    def tables(self) -> tuple[Table, ...]:
        """A row per condition."""
        rows = [
            (
                capital(each.name),
                _quantity(each.value),
                _quantity(each.threshold),
                {True: "holds", False: "not met", None: "not tested"}[each.holds],
            )
            for each in self.conditions
        ]
        columns = ("Condition", "Value", "Threshold", "Result")
        return (table("Conditions", columns, rows, numbers=(1, 2)),)

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """Cumulative coverage by calls and by time; None without a curve."""
        if not self.curve_of_calls.shapes:
            return None
        wanted = (thresholds.counted_shapes, thresholds.covered_share)
        return Chart(
            title="Coverage by the most frequent shapes",
            caption="Cumulative, the most frequent shape first.",
            alt=shape_curves(self.curve_of_calls, self.curve_of_time),
            draw=drawing(
                "engagements.evidence.charts.coverage",
                self.curve_of_calls,
                self.curve_of_time,
                wanted,
            ),
        )


def _quantity(value: float | None) -> str:
    """Format a share as a percentage, a number above 1 unchanged."""
    if value is None:
        return NOT_KNOWN
    return percent(value) if value <= 1 else f"{value:.1f}".removesuffix(".0")


def find(inputs: AuditInputs) -> Finding:
    """Test whether a kernel can be tuned for the traffic. Every tested condition must be met."""
    lines = inputs.thresholds
    wanted = f"{lines.counted_shapes} shapes cover at least {percent(lines.covered_share)}"
    if inputs.traffic is None:
        return Finding(
            check=NAME,
            outcome=Outcome.UNKNOWN,
            wanted=wanted,
            sentence="We do not know yet how much your traffic varies.",
            paragraph=(
                "The operator has no log of shapes. A profile is not enough, as it has the shapes "
                "of a few steps only."
            ),
            to_collect=(TRAFFIC,),
            questions=("On which shapes was it measured, and what share of our traffic has them?",),
        )
    facts = inputs.traffic.value
    conditions = _conditions(facts, lines)
    outcome = _outcome(facts, conditions, lines)
    return Finding(
        check=NAME,
        outcome=outcome,
        value=conditions[0].value,
        threshold=lines.covered_share,
        unit=f"share of traffic in {lines.counted_shapes} shapes",
        shown=f"{percent(_covered(facts, lines))} of traffic",
        wanted=wanted,
        sentence=_sentence(outcome, facts, conditions, lines),
        paragraph=_paragraph(facts, conditions),
        evidence=(inputs.traffic.source,),
        to_collect=(TRAFFIC,) if outcome == Outcome.UNKNOWN else (),
        figures=_figures(facts, conditions),
    )


def _covered(facts: TrafficFacts, lines: Thresholds) -> float:
    """Return the share of calls or of time, whichever is less, in the most frequent shapes."""
    count = lines.counted_shapes
    shares = [_at(facts.coverage, facts.curve_of_calls, count)]
    if facts.coverage_of_time is not None and facts.curve_of_time is not None:
        shares.append(_at(facts.coverage_of_time, facts.curve_of_time, count))
    return min(shares)


def _at(coverage: Mapping[str, float], curve: Curve, count: int) -> float:
    """Return the coverage by `count` shapes; without an exact value, the curve's last point "
    "below."""
    if str(count) in coverage:
        return coverage[str(count)]
    within = [
        share for number, share in zip(curve.shapes, curve.shares, strict=True) if number <= count
    ]
    return within[-1] if within else 0.0


def _conditions(facts: TrafficFacts, lines: Thresholds) -> tuple[Condition, ...]:
    covered, effective = _covered(facts, lines), facts.effective_shapes
    distance = facts.drift.distance if facts.drift else None
    return (
        Condition(
            name=f"share of traffic in the {lines.counted_shapes} most frequent shapes",
            value=covered,
            threshold=lines.covered_share,
            holds=covered >= lines.covered_share,
        ),
        Condition(
            name="effective number of shapes",
            value=effective,
            threshold=lines.effective_shapes,
            holds=effective <= lines.effective_shapes,
        ),
        Condition(
            name="drift from the first third of the log to the last",
            value=distance,
            threshold=lines.drift_distance,
            holds=None if distance is None else distance <= lines.drift_distance,
        ),
    )


def _outcome(facts: TrafficFacts, conditions: tuple[Condition, ...], lines: Thresholds) -> Outcome:
    if facts.calls < lines.least_calls:
        return Outcome.UNKNOWN
    failed = any(condition.holds is False for condition in conditions)
    return Outcome.FAIL if failed else Outcome.PASS


def _sentence(
    outcome: Outcome,
    facts: TrafficFacts,
    conditions: tuple[Condition, ...],
    lines: Thresholds,
) -> str:
    if outcome == Outcome.UNKNOWN:
        return f"The log has {facts.calls:,} calls, too few to judge how much your traffic varies."
    covered, effective, drift = conditions
    few = min(lines.counted_shapes, facts.distinct_shapes)
    carried = f"{few} shape{'s' if few > 1 else ''} carry {percent(_covered(facts, lines))}"
    if few == 1:
        carried = carried.replace("carry", "carries")
    if outcome == Outcome.PASS:
        return f"{carried} of your traffic: regular enough to tune a kernel for."
    if covered.holds is False:
        return f"Only {carried} of your traffic: one tuned kernel would be slow for the rest."
    if effective.holds is False:
        return (
            f"Your traffic has an effective number of {facts.effective_shapes:.0f} shapes: too "
            "many."
        )
    moved = percent(drift.value or 0.0)
    return f"Your traffic drifts: {moved} of it changed shape between start and end of the log."


def _paragraph(facts: TrafficFacts, conditions: tuple[Condition, ...]) -> str:
    lines = [
        f"{facts.calls:,} calls in {facts.distinct_shapes:,} shapes ({listed(facts.axes)}); "
        f"{_spread(facts.shapes_for_calls, 'calls')}."
    ]
    if facts.shapes_for_time is not None:
        lines.append(f"{_spread(facts.shapes_for_time, 'time')}.")
    else:
        lines.append("The log has no durations, so shares of time are unknown.")
    lines.append(f"In effect {facts.effective_shapes:.1f} shapes (exponential of the entropy).")
    if facts.tail_share_of_time is not None:
        lines.append(
            f"All but the 16 most frequent shapes take {percent(facts.tail_share_of_time)} of the "
            "time."
        )
    if facts.drift is None:
        lines.append("The log has no order, so drift was not tested.")
    else:
        lines.append(
            f"From the first third to the last, {percent(facts.drift.distance)} of the calls "
            f"moved to other shapes (total variation), {percent(facts.drift.new_share)} to shapes "
            "not seen before."
        )
    failed = [condition.name for condition in conditions if condition.holds is False]
    if failed:
        lines.append(f"Conditions not met: {listed(failed)}.")
    return " ".join(lines)


def _spread(shapes: Mapping[str, int], of: str) -> str:
    shares = [percent(float(share)) for share in shapes]
    counts = [str(number) for number in shapes.values()]
    return f"{listed(shares)} of the {of} have {listed(counts)} shapes"


def _figures(facts: TrafficFacts, conditions: tuple[Condition, ...]) -> ShapeFigures:
    return ShapeFigures(
        conditions=conditions,
        shapes_for_calls=facts.shapes_for_calls,
        shapes_for_time=facts.shapes_for_time,
        effective_shapes=facts.effective_shapes,
        distinct_shapes=facts.distinct_shapes,
        tail_share_of_time=facts.tail_share_of_time,
        drift_distance=facts.drift.distance if facts.drift else None,
        drift_new_share=facts.drift.new_share if facts.drift else None,
        curve_of_calls=facts.curve_of_calls,
        curve_of_time=facts.curve_of_time,
    )


CHECK = Check(
    name=NAME,
    question="Are the shapes stable?",
    why=(
        "A kernel is tuned for certain shapes. When sequence lengths have a fat tail, it is slow "
        "in the tail."
    ),
    reason=(
        "A kernel is tuned for certain shapes. If shapes vary without a pattern, the gain is lost "
        "in the tail."
    ),
    vendor_question="How fast is it on our rarest shapes, and what is the fallback for them?",
    value_label="Share of the traffic in the shapes the kernel is written for",
    value_hint="a percentage of the traffic, such as 97%.",
    consultant=Meanings(
        passed="A few shapes cover the traffic; the tail can use the library.",
        failed="The traffic has too many shapes to tune one kernel for.",
        unknown="No distribution of shapes from real traffic yet.",
    ),
    customer=Meanings(
        passed="Your traffic is regular enough to tune a kernel for it.",
        failed="Your traffic varies too much for one tuned kernel to help all of it.",
        unknown="We do not know yet how much your traffic varies.",
    ),
    quantity=Quantity("% of traffic", "%|per ?cent", low=Decimal(0), high=Decimal(100)),
    find=find,
)
