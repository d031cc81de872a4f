"""Compare two profiles by kernel and family.

Times are per step when both profiles have steps, else of the whole window, so that the number of
steps does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engagements.evidence.readers.facts import GroupTime, KernelTime, TraceFacts

LISTED = 40


@dataclass(frozen=True, kw_only=True)
class Row:
    """A kernel or family; a side is None when it does not occur there.

    `ratio` is before / after, None unless both occur. Shares are of the wall-clock time.
    """

    name: str
    before_ms: float | None
    after_ms: float | None
    before_share: float | None
    after_share: float | None
    before_calls: float | None
    after_calls: float | None

    @property
    def ratio(self) -> float | None:
        """Time before over time after."""
        if not self.before_ms or not self.after_ms:
            return None
        return self.before_ms / self.after_ms

    @property
    def change_ms(self) -> float:
        """Change of time in ms, negative for a gain."""
        return (self.after_ms or 0.0) - (self.before_ms or 0.0)

    @property
    def fate(self) -> Literal["appeared", "gone", "faster", "slower", "same"]:
        """The kind of change; within 2% it is the same."""
        if self.before_ms is None:
            return "appeared"
        if self.after_ms is None:
            return "gone"
        if self.ratio is None or 0.98 < self.ratio < 1.02:
            return "same"
        return "faster" if self.ratio > 1 else "slower"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two profiles; `of` is the unit of the times: step or window."""

    of: Literal["step", "window"]
    before_wall_ms: float
    after_wall_ms: float
    before_busy_share: float | None
    after_busy_share: float | None
    families: tuple[Row, ...]
    kernels: tuple[Row, ...]

    @property
    def ratio(self) -> float | None:
        """Wall-clock time before over after."""
        return self.before_wall_ms / self.after_wall_ms if self.after_wall_ms > 0 else None


def compare(before: TraceFacts, after: TraceFacts) -> Comparison:
    """Compare two profiles, the largest change first."""
    by_step = before.window.steps > 0 and after.window.steps > 0
    parts = (before.window.steps, after.window.steps) if by_step else (1, 1)
    return Comparison(
        of="step" if by_step else "window",
        before_wall_ms=before.wall_ms / parts[0],
        after_wall_ms=after.wall_ms / parts[1],
        before_busy_share=before.gpu_busy_share,
        after_busy_share=after.gpu_busy_share,
        families=_rows(before.families, after.families, parts),
        kernels=_rows(before.kernels, after.kernels, parts),
    )


def _rows(
    before: Sequence[GroupTime | KernelTime],
    after: Sequence[GroupTime | KernelTime],
    parts: tuple[int, int],
) -> tuple[Row, ...]:
    then, now = ({time.name: time for time in side} for side in (before, after))
    rows = [_row(name, then.get(name), now.get(name), parts) for name in {**then, **now}]
    rows.sort(key=lambda row: (-abs(row.change_ms), row.name))
    return tuple(rows[:LISTED])


def _row(
    name: str,
    then: GroupTime | KernelTime | None,
    now: GroupTime | KernelTime | None,
    parts: tuple[int, int],
) -> Row:
    return Row(
        name=name,
        before_ms=then.busy_ms / parts[0] if then else None,
        after_ms=now.busy_ms / parts[1] if now else None,
        before_share=then.share_of_wall if then else None,
        after_share=now.share_of_wall if now else None,
        before_calls=then.calls / parts[0] if then else None,
        after_calls=now.calls / parts[1] if now else None,
    )
