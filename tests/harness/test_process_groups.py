"""A side's whole family stands still between its turns, and work done then is told."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from benchmarks.harness.sides import process_trees
from benchmarks.harness.sides.process_trees import Idleness, ThreadState, woke

pytestmark = pytest.mark.alone

SPINS_ELSEWHERE = """
import os
import re
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("spinning", flush=True)
    while True:
        pass
while True:
    os.wait()
"""


@pytest.fixture
def spinning() -> Iterator[int]:
    """A process that waits, over two that spin in a session of their own."""
    with subprocess.Popen([sys.executable, "-c", SPINS_ELSEWHERE], stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.readline()
        yield found.pid
        process_trees.signal_all(process_trees.members(found.pid, None), 9)


def worked_s(first: int) -> float:
    return process_trees.processor_s(process_trees.members(first, None))


def test_a_process_outside_the_group_is_stopped_too(spinning: int) -> None:
    assert len(process_trees.members(spinning, None)) == 3
    process_trees.stop(spinning, None)
    before = worked_s(spinning)
    time.sleep(0.3)
    assert worked_s(spinning) - before < 0.05
    process_trees.resume(spinning, None)
    deadline = time.monotonic() + 10
    while worked_s(spinning) - before < 0.1:
        assert time.monotonic() < deadline


LOOKS_DEAD = """
import ctypes, threading
def spin():
    while True:
        pass
threading.Thread(target=spin).start()
print("spinning", flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""


def test_a_process_that_looks_dead_is_stopped_too() -> None:
    with subprocess.Popen([sys.executable, "-c", LOOKS_DEAD], stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.readline()
        try:
            while process_trees._stat(found.pid)[0] != "Z":
                time.sleep(0.01)
            process_trees.stop(found.pid, None)
            before = worked_s(found.pid)
            time.sleep(0.3)
            assert worked_s(found.pid) - before < 0.05
        finally:
            found.kill()


def test_work_between_turns_is_held_against_the_side(spinning: int) -> None:
    idleness = Idleness(spinning, None)
    idleness.begins()
    time.sleep(1.0)
    idleness.ends()
    assert idleness.violation is not None
    assert re.search(r"\d s of processor time", idleness.violation)


def test_a_side_that_waits_has_nothing_to_answer_for(spinning: int) -> None:
    process_trees.stop(spinning, None)
    idleness = Idleness(spinning, None)
    for _ in range(3):
        idleness.begins()
        time.sleep(0.1)
        idleness.ends()
    assert idleness.violation is None


def test_a_side_that_is_not_stopped_may_keep_a_compiler_busy(spinning: int) -> None:
    unstopped = Idleness(spinning, None, stopped=False)
    unstopped.begins()
    time.sleep(0.5)
    unstopped.ends()
    assert unstopped.violation is None
    # From here on it is held still, or should be.
    unstopped.stopped = True
    unstopped.begins()
    before, deadline = worked_s(spinning), time.monotonic() + 60
    while worked_s(spinning) - before < 3.0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    unstopped.ends()
    assert unstopped.violation is not None


SLEEPS = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.001)
"""


def test_a_stopping_process_may_leave_the_kernel_but_not_compute() -> None:
    asleep: process_trees.Threads = {1: ThreadState(stopped=False, switches=5, ran_ns=0)}
    assert not woke(asleep, {1: ThreadState(stopped=True, switches=8, ran_ns=900_000)})
    # One stretch of work in a thread that a flood of timers kept from ever standing.
    assert woke(asleep, {1: ThreadState(stopped=False, switches=6, ran_ns=20_000_000)})


HAS_A_NAME = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"\\nState:\\tT switches:\\t9"[:15])
print("ready", flush=True)
time.sleep(60)
"""


def test_what_a_thread_calls_itself_is_not_read_as_the_kernels_word() -> None:
    with subprocess.Popen([sys.executable, "-c", HAS_A_NAME], stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.readline()
        (standing,) = process_trees.threads({found.pid}).values()
        process_trees.signal_all({found.pid}, signal.SIGKILL)
    assert standing is not None
    assert not standing.stopped
    assert standing.switches > 0
    assert standing.ran_ns > 1_000_000


@pytest.mark.parametrize("before_the_look", [False, True])
def test_a_process_woken_while_stopped_is_reported(before_the_look: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE) as found:
        assert found.stdout is not None
        found.stdout.readline()
        process_trees.stop(found.pid, None)
        still, woken = Idleness(found.pid, None), Idleness(found.pid, None)
        for idleness in [still] * 5 + [woken] * 8:
            if idleness is woken and before_the_look:
                found.send_signal(signal.SIGCONT)
                time.sleep(0.001)
            idleness.begins()
            if idleness is woken:
                found.send_signal(signal.SIGCONT)
                time.sleep(0.2)
                process_trees.stop(found.pid, None)
            idleness.ends()
        found.kill()
    assert still.violation is None
    assert woken.violation is not None
    assert re.search(rf"{woken.wakes} of the {woken.waits}", woken.violation)


def test_the_time_that_counting_takes_is_time_waited(
    spinning: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host of many processes: a compiler's two may work on while its family is looked for."""
    find = process_trees.members

    def slowly(first: int, user: int | None) -> set[int]:
        time.sleep(0.5)
        return find(first, user)

    monkeypatch.setattr(process_trees, "members", slowly)
    idleness = Idleness(spinning, None, stopped=False)
    idleness.begins()
    idleness.ends()
    assert idleness.worked_s > 0.1
    assert idleness.violation is None
