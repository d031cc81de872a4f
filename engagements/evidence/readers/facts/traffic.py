"""Facts of shape traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A shape of the traffic. `share_of_time` is None without durations.

    `drift` is its share of the calls in the last third less that in the first, -1 to 1; None
    where the log has no order.
    """

    axes: dict[str, str]
    calls: int
    share_of_calls: float
    share_of_time: float | None
    drift: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A cumulative curve: the `shares[i]` that the `shapes[i]` most frequent shapes cover."""

    shapes: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The traffic of one part of the log, in the order of the log or of its timestamps."""

    calls: int
    effective_shapes: float
    distinct_shapes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """Difference between the first and last third of the log.

    `distance` is the total variation distance of their shapes, 0 (the same) to 1 (nothing in
    common); `new_share` the share of the last third's calls in shapes that the first lacks.
    """

    distance: float
    new_share: float
    first: Part
    last: Part


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficFacts:
    """The distribution of calls over shapes.

    `effective_shapes` is the exponential of the entropy of the calls (Hill 1973, order 1): as
    many equally frequent shapes would be as hard to foresee. `coverage` maps 1, 4 and 16 to
    the share of calls in that many most frequent shapes; `shapes_for_calls` and
    `shapes_for_time` map "0.8", "0.95", "0.99" to the number of shapes that cover them.
    `tail_share_of_time` is the share of time in all but the 16 most frequent shapes. `p50` and
    `p99` are of the duration of a call, in `duration_unit`, weighted by calls (the smallest
    duration that so many calls do not exceed).
    """

    axes: tuple[str, ...]
    calls: int
    rows: int
    distinct_shapes: int
    effective_shapes: float
    effective_shapes_by_time: float | None
    coverage: dict[str, float]
    coverage_of_time: dict[str, float] | None
    shapes_for_calls: dict[str, int]
    shapes_for_time: dict[str, int] | None
    tail_share_of_time: float | None
    p50: float | None
    p99: float | None
    duration_unit: str | None
    curve_of_calls: Curve
    curve_of_time: Curve | None
    drift: Drift | None
    models: dict[str, int]
    shapes: tuple[Shape, ...]
    warnings: tuple[str, ...]
    format: Literal["traffic"] = "traffic"

    def shown(self) -> dict[str, Any]:
        """Data of `manage.py evidence show --json`."""
        names = ("format", "calls", "distinct_shapes", "effective_shapes", "coverage")
        rest = ("tail_share_of_time", "p50", "p99")
        return {name: getattr(self, name) for name in names + rest}
