"""Gaps without device activity: their lengths, and whether they waited for the host."""

from __future__ import annotations

import numpy as np

from engagements.evidence.readers.arrays import Flags, Floats
from engagements.evidence.readers.facts import GapLengths, Gaps, Window

# Back to back launches leave 1 to 2 us, a busy Python loop 5 to 50, a data loader more than 1 ms.
LENGTHS_US: tuple[float | None, ...] = (2.0, 5.0, 20.0, 100.0, 1000.0, 10_000.0, None)


def measure(
    busy: tuple[Floats, Floats], window: Window, launched: Floats, starts: Floats, inside: Flags
) -> Gaps:
    """Measure the gaps in the window between, before and after the `busy` intervals.

    `launched` and `starts` are times of device operations in microseconds; NaN when unknown.
    """
    begins = np.concatenate(([window.start_us], busy[1]))
    ends = np.concatenate((busy[0], [window.end_us]))
    lengths = np.maximum(ends - begins, 0.0)
    real = lengths > 0
    waited = _waited_for_launch(begins[:-1], busy[0], launched, starts, inside)
    wall = window.end_us - window.start_us
    bound = None
    if waited is not None and wall > 0:
        bound = float(np.sum(lengths[:-1][waited])) / wall
    found = lengths[real]
    return Gaps(
        count=len(found),
        idle_ms=float(np.sum(found)) / 1e3,
        median_us=float(np.median(found)) if len(found) else None,
        longest_us=float(np.max(found)) if len(found) else None,
        by_length=_by_length(found),
        launch_bound_share=bound,
    )


def _by_length(lengths: Floats) -> tuple[GapLengths, ...]:
    rows = []
    low = 0.0
    for high in LENGTHS_US:
        members = lengths[(lengths > low) & (lengths <= (np.inf if high is None else high))]
        rows.append(GapLengths(up_to_us=high, count=len(members), ms=float(np.sum(members)) / 1e3))
        low = high or low
    return tuple(rows)


def _waited_for_launch(
    begins: Floats, resumed: Floats, launched: Floats, starts: Floats, inside: Flags
) -> Flags | None:
    """Return for each gap whether the operation after it was launched after the gap began.

    None without known launches. A gap before an operation without a known launch does not count.
    """
    if not len(resumed) or np.isnan(launched[inside]).all():
        return None
    order = np.argsort(starts[inside], kind="stable")
    ordered = starts[inside][order]
    first = np.minimum(np.searchsorted(ordered, resumed), len(ordered) - 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(launched[inside][order][first] > begins)
