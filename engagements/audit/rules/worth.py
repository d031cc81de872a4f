"""Check 6: is the speedup worth it?

The ceiling decides: the operator's share of wall-clock time and the largest possible kernel speedup
must allow the target end to end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules import (
    ceiling,
    collecting,
    gain,
    roofline,
    roofline_text,
    selection,
    thresholds,
)
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Finding, Missing, Source
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.phrases import capital, percent, percents, times, times_each
from engagements.audit.rules.roofline import Headroom
from engagements.audit.rules.selection import Share
from engagements.common.ratios import SIGN

NAME = "worth"

# The end-to-end ratio that pays for the maintenance of a kernel.
LEAST_RATIO = Decimal(str(thresholds.DEFAULT.target))


def _expects(ratio: Decimal) -> Outcome:
    return Outcome.PASS if ratio >= LEAST_RATIO else Outcome.FAIL


ANOTHER_ALGORITHM = (
    "Is there an algorithm that moves fewer bytes, such as one that reads a shared prefix once?"
)
STATE_SHAPE = Missing(
    what="The operator's Definition, dtype and axes, from which the least bytes are computed."
)


@dataclass(frozen=True)
class _Ruled:
    """An outcome with its ratio and reason."""

    outcome: Outcome
    ratio: float | None
    sentence: str


def find(inputs: AuditInputs) -> Finding:
    """Test whether the target is within the end-to-end ceiling."""
    share, target = selection.share(inputs), inputs.thresholds.target
    room = roofline.headroom(inputs)
    ruled = _measured(inputs, share, room, target) or _under_the_ceiling(
        inputs, share, room, target
    )
    figures = _figures(inputs, share, room, target)
    return Finding(
        check=NAME,
        outcome=ruled.outcome,
        value=ruled.ratio,
        threshold=target,
        unit="times as fast end to end",
        shown=_shown(inputs, ruled, share),
        wanted=f"{times(target)} end to end",
        sentence=ruled.sentence,
        paragraph=_paragraph(inputs, share, room, figures),
        evidence=_evidence(inputs, share, room),
        to_collect=_to_collect(inputs, share) if ruled.outcome == Outcome.UNKNOWN else (),
        questions=_questions(inputs, room, figures),
        figures=figures,
    )


def _measured(
    inputs: AuditInputs, share: Share | None, room: Headroom, target: float
) -> _Ruled | None:
    """Decide by a measured or stated end-to-end ratio, unless it exceeds the ceiling."""
    if inputs.end_to_end is None:
        return None
    ratio, source = inputs.end_to_end.value, inputs.end_to_end.source
    infinite = ceiling.infinite(share.value.high) if share else None
    if infinite is not None and ratio.low > infinite:
        text = f"{times_each(ratio)} is impossible: {_infinite(infinite)}"
        return _Ruled(Outcome.FAIL, infinite, text)
    if share is not None and source.kind == "stated" and room.most and not room.is_soft:
        highest = ceiling.ratio(share.value.high, room.most)
        if ratio.low > highest:
            text = (
                f"{times_each(ratio)} is impossible: the largest possible speedup is "
                f"{times(room.most)} for the kernel and {times(highest)} end to end."
            )
            return _Ruled(Outcome.FAIL if highest < target else Outcome.UNKNOWN, highest, text)
    said = "measured" if source.kind in ("run", "file") else "stated"
    text = f"End to end {times_each(ratio)} was {said}"
    if ratio.low >= target:
        return _Ruled(Outcome.PASS, ratio.low, f"{text}: worth its maintenance.")
    if ratio.high < target:
        return _Ruled(Outcome.FAIL, ratio.high, f"{text}, less than the required {times(target)}.")
    return _Ruled(
        Outcome.UNKNOWN, ratio.low, f"{text}: too imprecise for a target of {times(target)}."
    )


def _under_the_ceiling(
    inputs: AuditInputs, share: Share | None, room: Headroom, target: float
) -> _Ruled:
    if share is None:
        text = "The end-to-end gain is unknown without the operator's share of the time."
        return _Ruled(Outcome.UNKNOWN, None, text)
    infinite = ceiling.infinite(share.value.high)
    if infinite is not None and infinite < target:
        return _Ruled(Outcome.FAIL, infinite, capital(_infinite(infinite)))
    claimed = inputs.kernel_speedup.value if inputs.kernel_speedup else None
    if room.most is not None:
        return _by_roofline(inputs, share, room, room.most, target, claimed)
    if claimed is None:
        text = "The possible kernel speedup is not measured yet, so the end-to-end gain is unknown."
        return _Ruled(Outcome.UNKNOWN, None, text)
    low = ceiling.ratio(share.value.low, claimed.low)
    high = ceiling.ratio(share.value.high, claimed.high)
    said = f"If the claimed kernel speedup of {times_each(claimed)} is true, the end-to-end gain is"
    gained = times_each(Interval(low=low, high=high))
    if low >= target:
        return _Ruled(Outcome.PASS, low, f"{said} {gained}: worth its maintenance.")
    if high < target:
        text = f"{said} only {gained}, less than the required {times(target)}."
        return _Ruled(Outcome.FAIL, high, text)
    return _Ruled(
        Outcome.UNKNOWN, low, f"{said} {gained}: too imprecise for a target of {times(target)}."
    )


def _by_roofline(
    inputs: AuditInputs,
    share: Share,
    room: Headroom,
    most: float,
    target: float,
    claimed: Interval | None,
) -> _Ruled:
    tuned = inputs.thresholds.tuned_share
    highest = ceiling.ratio(share.value.high, most)
    if room.share is not None and room.share >= tuned and room.fewer_bytes is None:
        text = (
            f"The kernel runs at {percent(room.share)} of the GPU's peak: only another algorithm "
            "could gain more."
        )
        return _Ruled(Outcome.FAIL, highest, text)
    if highest < target and room.is_soft:
        text = (
            f"With its present instructions the kernel can gain {times(most)} at most, but it is "
            "low on the ladder: fewer instructions may do the same work."
        )
        return _Ruled(Outcome.UNKNOWN, highest, text)
    if highest < target:
        text = (
            f"The kernel can gain {times(most)} at most, which is {times(highest)} end to end: "
            f"less than the required {times(target)}."
        )
        return _Ruled(Outcome.FAIL, highest, text)
    lowest = ceiling.ratio(share.value.low, most)
    if lowest < target:
        text = (
            f"The possible end-to-end gain is {times(lowest)} to {times(highest)}, which is too "
            "imprecise to decide."
        )
        return _Ruled(Outcome.UNKNOWN, lowest, text)
    if claimed is not None and ceiling.ratio(share.value.high, min(claimed.high, most)) < target:
        gained = ceiling.ratio(share.value.high, min(claimed.high, most))
        text = (
            f"Even the claimed kernel speedup of {times(claimed.high)} gives only {times(gained)} "
            "end to end."
        )
        return _Ruled(Outcome.FAIL, gained, text)
    text = f"Up to {times(lowest)} end to end is within reach of a better kernel."
    if room.share is not None and room.share >= tuned:
        text = f"Up to {times(lowest)} end to end is within reach by moving fewer bytes."
    return _Ruled(Outcome.PASS, lowest, text)


def _infinite(most: float) -> str:
    return f"even an infinitely fast kernel gives at most {times(most)} end to end."


def _figures(
    inputs: AuditInputs, share: Share | None, room: Headroom, target: float
) -> CeilingFigures | None:
    if share is None:
        return None
    # The bound that decides: a fail must hold at the largest share, so it is drawn with that one.
    high = share.value.high
    within = gain.reachable(room, inputs.thresholds)
    claimed = inputs.kernel_speedup.value if inputs.kernel_speedup else None
    needed = ceiling.needed(high, target)
    drawn = [2.0 * needed if needed else 0.0, room.most or 0.0, claimed.high if claimed else 0.0]
    return CeilingFigures(
        share=high,
        target=target,
        infinite=ceiling.infinite(high),
        needed=needed,
        most=room.most,
        ceiling=ceiling.ratio(high, room.most) if room.most else None,
        reachable=within,
        claimed=claimed,
        end_to_end=inputs.end_to_end.value if inputs.end_to_end else None,
        roofline_share=room.share,
        kernels=room.kernels,
        fewer_bytes=room.fewer_bytes,
        curve=ceiling.curve(high, min(max(*drawn, 10.0), 1000.0)),
    )


def _shown(inputs: AuditInputs, ruled: _Ruled, share: Share | None) -> str:
    if ruled.ratio is None or math.isinf(ruled.ratio):
        return ""
    highest = gain.highest_ratio(inputs)
    stated = inputs.end_to_end
    if stated is not None and (highest is None or stated.value.low <= highest):
        return f"{times_each(stated.value)} end to end"
    return f"{'at most ' if share else ''}{times(ruled.ratio)} end to end"


def _paragraph(
    inputs: AuditInputs, share: Share | None, room: Headroom, figures: CeilingFigures | None
) -> str:
    if share is None or figures is None:
        return "The ceiling is 1 / ((1 - f) + f / s), f the share of wall-clock time."
    lines = []
    if figures.infinite is not None:
        lines.append(
            f"At {percents(share.value)} of the wall-clock time {_infinite(figures.infinite)}"
        )
    if figures.needed is None:
        lines.append(f"No kernel speedup reaches {times(figures.target)} end to end.")
    else:
        lines.append(
            f"{times(figures.target)} end to end requires a kernel speedup of "
            f"{times(figures.needed)}."
        )
    lines += roofline_text.about(room, figures)
    if inputs.kernel_speedup is not None:
        claimed = inputs.kernel_speedup.value
        lines.append(f"Claimed kernel speedup: {times_each(claimed)}.")
        if room.most is not None and claimed.low > room.most:
            lines.append("That is beyond the roofline.")
    return " ".join(lines)


def _evidence(inputs: AuditInputs, share: Share | None, room: Headroom) -> tuple[Source, ...]:
    sources = [inputs.end_to_end.source] if inputs.end_to_end else []
    sources += [share.source] if share else []
    sources += [inputs.kernel_speedup.source] if inputs.kernel_speedup else []
    return tuple(dict.fromkeys((*sources, *room.sources)))


def _to_collect(inputs: AuditInputs, share: Share | None) -> tuple[Missing, ...]:
    if share is None:
        return (collecting.TRACE,)
    found = selection.selected(inputs)
    names = [kernel.name for kernel in found.kernels] if found else []
    room = roofline.headroom(inputs)
    missing = [collecting.compute(names)] if room.share is None else []
    return (*missing, STATE_SHAPE) if room.fewer_bytes is None else tuple(missing)


def _questions(
    inputs: AuditInputs, room: Headroom, figures: CeilingFigures | None
) -> tuple[str, ...]:
    asked = []
    if room.share is not None and room.share >= inputs.thresholds.tuned_share:
        asked.append(ANOTHER_ALGORITHM)
    if inputs.kernel_speedup is not None and inputs.kernel_speedup.source.kind == "stated":
        asked.append(
            "Against which baseline, on which shapes and GPU was the kernel measured, and may we "
            "repeat the measurement?"
        )
    if figures and figures.needed is None:
        asked.append(
            f"How can the kernel reach {times(figures.target)} end to end, beyond its ceiling?"
        )
    return tuple(asked)


CHECK = Check(
    name=NAME,
    question="Is the speedup worth it?",
    why=(
        "1.2× in the kernel that becomes 1.05× end to end does not pay for its maintenance. We "
        "require 2× end to end."
    ),
    reason=("The end-to-end gain counts, not that of the kernel alone. We require at least 2×."),
    vendor_question="What share of the roofline does our present kernel reach?",
    value_label="Expected end-to-end speedup",
    value_hint="a ratio over the off-the-shelf baseline, such as 2.6×.",
    consultant=Meanings(
        passed="The roofline and Amdahl's law allow 2× end to end.",
        failed="Less than 2× end to end is possible: not worth the maintenance.",
        unknown="No estimate of the end-to-end speedup yet.",
    ),
    customer=Meanings(
        passed="Doubling your end-to-end speed is possible.",
        failed="The possible gain would not pay for the kernel's maintenance.",
        unknown="We cannot estimate the speedup yet.",
    ),
    quantity=Quantity(SIGN, rf"x\b|{SIGN}|times", low=Decimal("0.1"), high=Decimal(1000)),
    expects=_expects,
    find=find,
)
