"""A side computes on no more threads than are sealed; the trick `threads_taken` plays it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from benchmarks.harness.sides.processor_time import RoundTime, Used


@pytest.mark.parametrize(
    ("threads", "others_s", "caught"),
    [(1, (0.1,), False), (1, (0.3,), True), (2, (0.9,), False), (2, (0.9, 0.9), True)],
)
def test_time_beyond_the_sealed_threads_is_caught(
    threads: int, others_s: tuple[float, ...], caught: bool
) -> None:
    ran_s = dict(enumerate((1.0, *others_s)))
    used = RoundTime(threads)
    used.add(Used(5.0, dict.fromkeys(ran_s, 0.0)), Used(5.0 + sum(ran_s.values()), ran_s))
    assert (used.violation is not None) is caught


def test_threads_that_ended_within_the_round_count() -> None:
    def busy() -> None:
        until = time.thread_time() + 0.06
        while time.thread_time() < until:
            pass

    used, mine = RoundTime(1), {os.getpid()}
    before = Used.by(mine)
    other = threading.Thread(target=busy)
    other.start()
    busy()
    other.join()
    used.add(before, Used.by(mine))
    assert used.violation is not None
