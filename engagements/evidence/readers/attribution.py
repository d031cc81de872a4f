"""Attribute launches to the ranges of their thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engagements.evidence.readers.arrays import Integers
from engagements.evidence.readers.recording import NO_CORRELATION, Calls, Operations, Ranges

# Maximum number of different sets of ranges; later ones are not attributed.
STACKS = 20_000
NOWHERE = 0


@dataclass(frozen=True)
class Attributed:
    """The stack number of each call; a stack is the set of names of its ranges."""

    stack_of_call: Integers
    stacks: list[frozenset[int]]
    is_complete: bool


def call_of_operations(operations: Operations, calls: Calls) -> Integers:
    """Return the row of the launching call for each operation, -1 when unknown."""
    wanted = np.frombuffer(operations.correlations, dtype=np.int64)
    if not len(calls.correlations) or not len(wanted):
        return np.full(len(wanted), -1)
    known = np.frombuffer(calls.correlations, dtype=np.int64)
    order = np.argsort(known, kind="stable")
    places = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    rows = order[places]
    return np.where((known[rows] == wanted) & (wanted != NO_CORRELATION), rows, -1)


def attribute(calls: Calls, ranges: Ranges) -> Attributed:
    """Match each thread's launches with its open ranges, in order of time."""
    stacks: list[frozenset[int]] = [frozenset()]
    numbers: dict[frozenset[int], int] = {frozenset(): NOWHERE}
    stack_of_call = np.zeros(len(calls.starts), dtype=np.int64)
    complete = True
    for thread in _threads(ranges):
        for row, names in _walk(calls, ranges, thread):
            number = numbers.get(names)
            if number is None:
                if len(stacks) >= STACKS:
                    complete = False
                    continue
                number = numbers[names] = len(stacks)
                stacks.append(names)
            stack_of_call[row] = number
    return Attributed(stack_of_call, stacks, complete)


def _threads(ranges: Ranges) -> list[int]:
    if not len(ranges.threads):
        return []
    threads = np.unique(np.frombuffer(ranges.threads, dtype=np.int32))
    return [int(thread) for thread in threads if thread >= 0]


def _walk(calls: Calls, ranges: Ranges, thread: int) -> list[tuple[int, frozenset[int]]]:
    """Yield the calls of a thread with the names of their open ranges."""
    mine = np.flatnonzero(np.frombuffer(ranges.threads, dtype=np.int32) == thread)
    launches = np.flatnonzero(np.frombuffer(calls.threads, dtype=np.int32) == thread)
    if not len(launches):
        return []
    times = np.frombuffer(calls.starts)[launches]
    starts, ends = np.frombuffer(ranges.starts)[mine], np.frombuffer(ranges.ends)[mine]
    names = np.frombuffer(ranges.names, dtype=np.int32)[mine]
    # Outer ranges first when two start at the same time.
    order = np.lexsort((-ends, starts))
    mine_starts, mine_ends = starts[order].tolist(), ends[order].tolist()
    mine_names = names[order].tolist()
    found: list[tuple[int, frozenset[int]]] = []
    is_open: list[tuple[float, int]] = []
    names_open: frozenset[int] = frozenset()
    following = 0
    by_time = np.argsort(times, kind="stable")
    for row, time in zip(launches[by_time].tolist(), times[by_time].tolist(), strict=True):
        changed = False
        while following < len(mine_starts) and mine_starts[following] <= time:
            if mine_ends[following] >= time:
                is_open.append((mine_ends[following], mine_names[following]))
                changed = True
            following += 1
        if any(end < time for end, _ in is_open):
            is_open = [each for each in is_open if each[0] >= time]
            changed = True
        if changed:
            names_open = frozenset(name for _, name in is_open)
        if names_open:
            found.append((row, names_open))
    return found
