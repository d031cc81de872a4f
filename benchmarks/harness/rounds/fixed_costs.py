"""What a round costs beside its calls, and is taken off.

Two measures. Empty rounds tell at once and never too much. But a round of tens of ms costs some
200 us more than an empty one on an H200, of 960 in all: whoever ran, waited or remembered before it
is cold after it. Left in, that makes a candidate that is twice as fast 1.995 times as fast. Rounds
of a part of the calls tell that too: what a round takes grows by the same amount with each of its
calls, and what it would take without any is what it costs beside them.

The baseline's parts alone are measured: a candidate that slows its own would have more taken off.
It runs some all the same: a side that was the last to run is warm, and its next round costs less.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

# Noise of a round counts 1.4 times in what is extrapolated from a quarter, 2.2 times from a half.
_PART = 4


def part_of(calls: int) -> int | None:
    """How many calls a round of a part has; None where there are too few to take a part of."""
    return calls // _PART or None


@dataclass
class FixedCost:
    """A round's cost beside its calls, in us: of empty rounds, and of rounds of a part."""

    empty_us: float
    parts_us: list[float] = field(default_factory=list)

    def off_us(self, whole_us: Sequence[float], calls: int) -> float:
        """What is taken off rounds of `calls` calls, of which the baseline's took `whole_us`.

        Empty rounds' cost is the least: a GPU that slows down under load bends the line.
        """
        if not self.parts_us:
            return self.empty_us
        return max(self.empty_us, _extrapolated_us(whole_us, self.parts_us, calls))


def _extrapolated_us(whole_us: Sequence[float], part_us: Sequence[float], calls: int) -> float:
    """The cost of a round of no calls, by the line through the medians of both lengths."""
    part = part_of(calls)
    assert part is not None
    whole, quarter = statistics.median(whole_us), statistics.median(part_us)
    return (calls * quarter - part * whole) / (calls - part)
