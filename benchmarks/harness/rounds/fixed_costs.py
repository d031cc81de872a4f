"""The fixed cost of a round, which is subtracted from both sides.

Empty rounds measure it quickly and never too high. But on an H200 a round of tens of ms has a fixed
cost of 960 us, 200 us more than an empty one, because caches cool down meanwhile; ignoring that
turns 2x into 1.995x. Rounds of a part of the calls measure this, too: time grows linearly with the
calls, and the intercept is the fixed cost.

Only the baseline's part rounds count, because a candidate could slow its own to have more
subtracted. The candidate runs them all the same: the side that ran last is warm, and its next round
is faster.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

# Extrapolation multiplies a round's noise by 1.4 from a quarter, and by 2.2 from a half.
_PART = 4


def part_of(calls: int) -> int | None:
    """The calls of a part round; None where there are too few calls to take a part."""
    return calls // _PART or None


@dataclass
class FixedCost:
    """The fixed cost of a round in us, from empty rounds and from part rounds."""

    empty_us: float
    parts_us: list[float] = field(default_factory=list)

    def off_us(self, whole_us: Sequence[float], calls: int) -> float:
        """The time to subtract from rounds of `calls` calls, where the baseline's took `whole_us`.

        At least that of empty rounds: a GPU that slows down under load bends the line.
        """
        if not self.parts_us:
            return self.empty_us
        return max(self.empty_us, _extrapolated_us(whole_us, self.parts_us, calls))


def _extrapolated_us(whole_us: Sequence[float], part_us: Sequence[float], calls: int) -> float:
    """The intercept of the line through the medians of both lengths."""
    part = part_of(calls)
    assert part is not None
    whole, quarter = statistics.median(whole_us), statistics.median(part_us)
    return (calls * quarter - part * whole) / (calls - part)
