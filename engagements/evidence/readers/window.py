"""The window of a recording: its steps if any, else the whole recording."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from engagements.evidence.readers import recording
from engagements.evidence.readers.arrays import Floats
from engagements.evidence.readers.facts import Window
from engagements.evidence.readers.recording import Recording

# Steps of the PyTorch profiler, and user ranges such as "step 3", "iteration_12", "batch #4".
PROFILER_STEP = re.compile(r"ProfilerStep\s*#?\s*\d+")
NUMBERED_STEP = re.compile(
    r"(?i)(train(ing)?|eval|decode|forward)?[ _-]?(step|iter(ation)?|batch)"
    r"[ _#:=-]*\d+"
)
STEPS = (
    "from the start of the first step to the later of the end of the last step and the end of the "
    "last device operation launched inside the steps"
)
RECORDED = "from the start of the first to the end of the last operation on host or device"


@dataclass(frozen=True)
class Steps:
    """Spans of the steps on the host, in order of time, in microseconds."""

    names: list[str]
    starts: Floats
    ends: Floats


def steps_of(recorded: Recording) -> Steps:
    """Return the profiler's steps, else ranges numbered like steps; possibly none."""
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
    """Compute the window. `ends` and `launched` are of device operations; NaN for no launch."""
    if not len(steps.starts):
        return Window(
            kind="recorded",
            definition=RECORDED,
            start_us=recorded.low_us,
            end_us=recorded.high_us,
            steps=0,
        )
    low, high = float(steps.starts.min()), float(steps.ends.max())
    # Without recorded launches, operations that end after the steps count as launched in them,
    # as the profiler stops with the last step.
    inside = np.where(np.isnan(launched), ends >= low, (launched >= low) & (launched <= high))
    if inside.any():
        high = max(high, float(ends[inside].max()))
    return Window(
        kind="steps", definition=STEPS, start_us=low, end_us=high, steps=len(steps.starts)
    )
