"""Select the operator's kernels in the trace, and bound their share of wall-clock time."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Source
from engagements.audit.rules.inputs import AuditInputs, Operator
from engagements.audit.rules.suggestions import suggest
from engagements.evidence.readers.facts import GroupTime, KernelTime, TraceFacts
from engagements.evidence.readers.patterns import found_in


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The operator's kernels in the trace. `is_suggested` when it was not chosen.

    `calls` counts calls on one device, assuming one launch of the longest kernel per call; None for
    a range or module of several kernels, which may run elsewhere too.
    """

    operator: Operator
    is_suggested: bool
    share_of_wall: Interval
    share_of_gpu: float | None
    busy_ms: float
    calls: float | None
    kernels: tuple[KernelTime, ...]

    @property
    def call_us(self) -> float | None:
        """Device time per call of the operator."""
        return self.busy_ms * 1e3 / self.calls if self.calls else None


@dataclass(frozen=True, kw_only=True)
class Share:
    """The operator's share of wall-clock time, between two bounds, with its source."""

    value: Interval
    source: Source


def selected(inputs: AuditInputs) -> Selected | None:
    """Return the operator in the trace; None without a trace that has it."""
    if inputs.trace is None or inputs.trace.value.gpu_busy_share is None:
        return None
    trace = inputs.trace.value
    operator, is_suggested = inputs.operator, False
    if operator is None:
        best = next(iter(suggest(trace)), None)
        if best is None:
            return None
        operator, is_suggested = best.operator, True
    return _in_trace(trace, operator, is_suggested)


def share(inputs: AuditInputs) -> Share | None:
    """Return the operator's share of wall-clock time from the trace, else as stated."""
    found = selected(inputs)
    if found is not None and inputs.trace is not None:
        return Share(value=found.share_of_wall, source=inputs.trace.source)
    if inputs.share is not None:
        stated = inputs.share.value
        return Share(value=Interval(low=stated, high=stated), source=inputs.share.source)
    return None


def _in_trace(trace: TraceFacts, operator: Operator, is_suggested: bool) -> Selected | None:
    group = _group(trace, operator)
    if group is not None:
        names = set(group.kernels)
        kernels = tuple(kernel for kernel in trace.kernels if kernel.name in names)
        return Selected(
            operator=operator,
            is_suggested=is_suggested,
            share_of_wall=Interval(low=group.share_of_wall, high=group.share_of_wall),
            share_of_gpu=group.share_of_gpu,
            busy_ms=group.busy_ms,
            calls=_calls(trace, operator, kernels),
            kernels=kernels,
        )
    if operator.kind != "pattern":
        return None
    # Not summed when the file was read: bounded by the listed kernels of the summary.
    wanted = operator.pattern or operator.name
    names = found_in((kernel.name for kernel in trace.kernels), wanted)
    kernels = tuple(kernel for kernel in trace.kernels if kernel.name in names)
    least, most = trace.share_of_wall(wanted)
    if most == 0.0:
        return None
    return Selected(
        operator=operator,
        is_suggested=is_suggested,
        share_of_wall=Interval(low=least, high=most),
        share_of_gpu=least / trace.gpu_busy_share if trace.gpu_busy_share else None,
        busy_ms=least * trace.wall_ms,
        calls=_calls(trace, operator, kernels),
        kernels=kernels,
    )


def _calls(trace: TraceFacts, operator: Operator, kernels: tuple[KernelTime, ...]) -> float | None:
    if not kernels or (operator.kind in ("range", "module") and len(kernels) > 1):
        return None
    return kernels[0].calls / max(1, len(trace.devices))


def _group(trace: TraceFacts, operator: Operator) -> GroupTime | None:
    kinds = {
        "family": trace.families,
        "range": trace.ranges,
        "module": trace.modules,
        "pattern": trace.patterns,
    }
    found = (group for group in kinds[operator.kind] if group.name == operator.name)
    if operator.kind == "pattern":
        found = (group for group in found if group.pattern == operator.pattern)
    return next(found, None)
