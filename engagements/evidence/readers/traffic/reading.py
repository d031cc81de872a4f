"""Compute the facts of a traffic log."""

from __future__ import annotations

import numpy as np

from engagements.evidence.readers import limits
from engagements.evidence.readers.arrays import Flags, Floats, Integers
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.facts import Shape, TrafficFacts
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.traffic import stability
from engagements.evidence.readers.traffic.calls import Calls
from engagements.evidence.readers.traffic.columns import meaning_of
from engagements.evidence.readers.traffic.tables import frames

TAIL_AFTER = 16


def read(opened: Opened) -> TrafficFacts:
    """Read a log. EvidenceError without calls or when it is invalid."""
    calls: Calls | None = None
    for frame in frames(opened):
        if calls is None:
            calls = Calls(meaning_of([str(name) for name in frame.columns]))
        calls.add(frame)
    if calls is not None and calls.left_out and not len(calls.shape):
        raise EvidenceError(
            f"None of the {calls.left_out:,} rows has a positive count",
            code="evidence.no_calls",
            where=f"column “{calls.columns.count}”",
        )
    if calls is None or not len(calls.shape):
        raise EvidenceError("The log has no calls", code="evidence.no_calls")
    return _facts(calls)


def _facts(calls: Calls) -> TrafficFacts:
    shape = np.frombuffer(calls.shape, dtype=np.int32)
    count, duration = np.frombuffer(calls.count), np.frombuffer(calls.duration)
    by_shape = stability.totals(shape, count, len(calls.shapes))
    timed = ~np.isnan(duration)
    time = stability.totals(shape[timed], (count * duration)[timed], len(calls.shapes))
    has_time = bool(timed.any()) and time.sum() > 0
    order = np.argsort(-by_shape, kind="stable")
    thirds = _thirds(calls, shape.astype(np.int64), count)
    return TrafficFacts(
        axes=calls.columns.axes,
        calls=int(by_shape.sum()),
        rows=len(shape),
        distinct_shapes=len(calls.shapes),
        effective_shapes=stability.effective_number(by_shape),
        effective_shapes_by_time=stability.effective_number(time) if has_time else None,
        coverage=stability.coverage(by_shape),
        coverage_of_time=stability.coverage(time) if has_time else None,
        shapes_for_calls=stability.shapes_for(by_shape),
        shapes_for_time=stability.shapes_for(time) if has_time else None,
        tail_share_of_time=float(time[order[TAIL_AFTER:]].sum() / time.sum()) if has_time else None,
        p50=_quantile(duration, count, timed, 0.50),
        p99=_quantile(duration, count, timed, 0.99),
        duration_unit=calls.columns.duration_unit,
        curve_of_calls=stability.curve(by_shape),
        curve_of_time=stability.curve(time) if has_time else None,
        drift=None if thirds is None else stability.drift(*thirds),
        models=calls.models,
        shapes=_listed(calls, by_shape, time if has_time else None, order, thirds),
        warnings=tuple(_warnings(calls, timed, has_time)),
    )


def _quantile(duration: Floats, count: Floats, timed: Flags, share: float) -> float | None:
    if not timed.any():
        return None
    return stability.quantile(duration[timed], count[timed], share)


def _thirds(calls: Calls, shape: Integers, count: Floats) -> tuple[Floats, Floats] | None:
    """Return the thirds in order of timestamps, else of rows; None for a histogram."""
    when = np.frombuffer(calls.when)
    if not np.isnan(when).any():
        order = np.argsort(when, kind="stable")
        return stability.thirds(shape[order], count[order], len(calls.shapes))
    if calls.columns.count is not None:
        return None
    return stability.thirds(shape, count, len(calls.shapes))


def _listed(
    calls: Calls,
    by_shape: Floats,
    time: Floats | None,
    order: Integers,
    thirds: tuple[Floats, Floats] | None,
) -> tuple[Shape, ...]:
    total = by_shape.sum()
    moved = None if thirds is None else thirds[1] / thirds[1].sum() - thirds[0] / thirds[0].sum()
    return tuple(
        Shape(
            axes=dict(zip(calls.columns.axes, calls.shapes[number], strict=True)),
            calls=int(by_shape[number]),
            share_of_calls=float(by_shape[number] / total),
            share_of_time=None if time is None else float(time[number] / time.sum()),
            drift=None if moved is None else float(moved[number]),
        )
        for number in order[: limits.LISTED_SHAPES].tolist()
    )


def _warnings(calls: Calls, timed: Flags, has_time: bool) -> list[str]:
    warnings = []
    columns = calls.columns
    if calls.left_out:
        warnings.append(f"{calls.left_out:,} rows without a positive count were left out.")
    if columns.duration is None:
        warnings.append("No durations were logged: shares of time are unknown.")
    elif not has_time:
        warnings.append(f"Column “{columns.duration}” has no durations.")
    elif not timed.all():
        warnings.append(
            f"{int(np.sum(~timed)):,} rows have no duration and are excluded from shares of time."
        )
    if columns.duration is not None and columns.duration_unit is None:
        warnings.append(f"The name “{columns.duration}” has no unit.")
    if columns.passed_over:
        warnings.append(f"Ignored as row numbers: {', '.join(columns.passed_over)[:200]}.")
    return warnings
