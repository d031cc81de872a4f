"""Which part of a recording counts: its steps where it has any, else all that was recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from engagements.evidence.readers import recording
from engagements.evidence.readers.arrays import Floats
from engagements.evidence.readers.facts import Window
from engagements.evidence.readers.recording import Recording

# The PyTorch profiler's own, and what people call theirs ("step 3", "iteration_12", "batch #4").
PROFILER_STEP = re.compile(r"ProfilerStep\s*#?\s*\d+")
NUMBERED_STEP = re.compile(
    r"(?i)(train(ing)?|eval|decode|forward)?[ _-]?(step|iter(ation)?|batch)"
    r"[ _#:=-]*\d+"
)
STEPS = (
    "from the start of the first step to the end of the last, or to the end of the last device "
    "operation that was launched inside them where that is later"
)
RECORDED = "from the start of the first to the end of the last operation, on the host or a device"


@dataclass(frozen=True)
class Steps:
    """The spans of the steps on the host, in order of time, in microseconds."""

    names: list[str]
    starts: Floats
    ends: Floats


def steps_of(recorded: Recording) -> Steps:
    """The steps: the profiler's own, else ranges that are numbered like steps; maybe none."""
    texts = recorded.names.texts
    names = np.frombuffer(recorded.ranges.names, dtype=np.int32) if recorded.ranges.names else None
    if names is None:
        return Steps([], np.empty(0), np.empty(0))
    on_host = np.frombuffer(recorded.ranges.threads, dtype=np.int32) >= 0
    kinds = np.frombuffer(recorded.ranges.kinds, dtype=np.int8)
    used = np.unique(names)
    for pattern in (PROFILER_STEP, NUMBERED_STEP):
        wanted = [number for number in used if pattern.fullmatch(texts[number])]
        rows = np.flatnonzero(np.isin(names, wanted) & on_host & (kinds == recording.ANNOTATION))
        if len(rows):
            starts = np.frombuffer(recorded.ranges.starts)[rows]
            order = np.argsort(starts, kind="stable")
            rows = rows[order]
            return Steps(
                [texts[names[row]] for row in rows],
                starts[order],
                np.frombuffer(recorded.ranges.ends)[rows],
            )
    return Steps([], np.empty(0), np.empty(0))


def window_of(recorded: Recording, steps: Steps, ends: Floats, launched: Floats) -> Window:
    """The window. `ends` and `launched` are of the device operations; NaN is never launched."""
    if not len(steps.starts):
        return Window(
            kind="recorded",
            definition=RECORDED,
            start_us=recorded.low_us,
            end_us=recorded.high_us,
            steps=0,
        )
    low, high = float(steps.starts.min()), float(steps.ends.max())
    # Without launches on record whatever ends after the steps was launched in them: the
    # profiler stops with the last step.
    inside = np.where(np.isnan(launched), ends >= low, (launched >= low) & (launched <= high))
    if inside.any():
        high = max(high, float(ends[inside].max()))
    return Window(
        kind="steps", definition=STEPS, start_us=low, end_us=high, steps=len(steps.starts)
    )
