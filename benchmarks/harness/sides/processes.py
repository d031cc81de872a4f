"""A side's process as the referee controls it: start, request, stop, kill, diagnose."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks.harness.failures import Role, SideFailed, SideRaised
from benchmarks.harness.sides import isolation, printable, process_trees
from benchmarks.harness.sides.channel import (
    Channel,
    ChannelClosed,
    ChannelTimeout,
    InvalidMessage,
    encode,
)
from benchmarks.harness.sides.process_trees import Idleness
from benchmarks.harness.sides.processor_time import RoundTime, Used
from benchmarks.harness.sides.sandboxes import Sandbox
from benchmarks.records.failure_codes import FailureCode

_TAIL_BYTES = 4000
_TAIL_LINES = 3
_ERROR_LETTERS, _WHERE_LETTERS, _LINE_LETTERS = 500, 200, 200
STARTUP_LIMIT_S = 120.0
# Shells and the sandbox's first process report signal N as status 128 + N.
_SIGNAL_STATUS = 128
_MEMORY = FailureCode.CANDIDATE_OUT_OF_MEMORY
_OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError", "torch.OutOfMemoryError")


class SideProcess:
    """One process of a side; the context kills it at the end."""

    _module = "benchmarks.harness.sides.side"

    def __init__(
        self,
        *,
        role: Role,
        replicate: int,
        scratch: Path,
        sandbox: Sandbox,
        threads: int,
        stops_when_idle: bool,
        channels: int = 1,
    ) -> None:
        """`stops_when_idle`: stop it between all turns, not only while it is `held`."""
        self.role = role
        self._who: str = role
        self.where = f"replicate {replicate + 1}"
        self._stops_when_idle = stops_when_idle
        self._sandbox = sandbox
        sandbox.make_scratch(scratch)
        self._log = scratch.parent / f"{scratch.name}.log"
        pairs = [Channel.pair() for _ in range(channels)]
        self._channels = [ours for ours, _ in pairs]
        with contextlib.ExitStack() as stack:
            theirs = [stack.enter_context(each).fileno() for _, each in pairs]
            # The side's alone: a candidate can change the flags and the position of an open file.
            log = stack.enter_context(self._log.open("wb"))
            inner = [sys.executable, *python_arguments(self._module)]
            for descriptor in theirs:
                inner += ["--channel", str(descriptor)]
            self._process = subprocess.Popen(
                sandbox.command(inner, scratch=scratch),
                cwd=scratch,
                env=isolation.side_environment(
                    scratch=scratch, cache=sandbox.cache, threads=threads
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=theirs,
                start_new_session=True,
            )
        self.idleness = Idleness(*self._root, stopped=stops_when_idle, ranks=channels)
        # Beside its own, a rank has a thread that talks to the others.
        self.round_time = RoundTime(threads if channels == 1 else channels * (threads + 1))

    @property
    def pid(self) -> int:
        """The side's own process id, below unshare and confine.py."""
        pid = self._process.pid
        if self._sandbox.arrangement.own_process_ids:
            # unshare waits for process 1 of the namespace, and that for the side. Any may have
            # died.
            with contextlib.suppress(OSError):
                for _ in range(2):
                    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                    pid = int(children[0]) if children else pid
        return pid

    @property
    def pids(self) -> list[int]:
        """The process ids of all that computes for this side."""
        return [self.pid]

    def __enter__(self) -> Self:
        return self

    def end(self) -> None:
        """Kill the side and its descendants. Idempotent."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._sandbox.end_leftovers()

    def __exit__(self, *exc: object) -> None:
        self.end()
        for channel in self._channels:
            channel.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    @contextlib.contextmanager
    def round(self, at_last: Callable[[], int]) -> Iterator[int]:
        """A turn whose processor time counts in `round_time`."""
        pids = process_trees.members(*self._root)
        before = Used.by(pids)
        with self.turn(at_last) as began_ns:
            yield began_ns
        self.round_time.add(before, Used.by(pids | process_trees.members(*self._root)))

    @contextlib.contextmanager
    def turn(self, at_last: Callable[[], int] = time.perf_counter_ns) -> Iterator[int]:
        """Let the side run; between turns it is stopped where the device allows that.

        Yields the start by `time.perf_counter_ns`, before the first of its processes continues.
        `at_last` returns it, after everything else that precedes it; if that raises, so does this.
        """
        # Search before the clock starts: otherwise the first of many processes would run before the
        # last is found.
        pids = self.idleness.ends()
        try:
            began_ns = at_last()
            if self._stops_when_idle:
                process_trees.signal_all(pids, signal.SIGCONT)
            yield began_ns
        finally:
            self._wait_for_turn()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Stop the side between its turns, on every device."""
        before = self._stops_when_idle
        self._hold(True)
        try:
            yield
        finally:
            self._hold(before)

    def _hold(self, stops: bool) -> None:
        if stops == self._stops_when_idle:
            return
        self.idleness.ends()
        self._stops_when_idle = stops
        self.idleness.stopped = stops
        if not stops:
            process_trees.resume(*self._root)
        self._wait_for_turn()

    @property
    def _root(self) -> tuple[int, int | None]:
        """Its first process, and the user id if only this side has it."""
        arrangement = self._sandbox.arrangement
        alone = arrangement.own_user and not arrangement.own_process_ids
        return self._process.pid, self._sandbox.user if alone else None

    def _wait_for_turn(self) -> None:
        pids = None
        if self._stops_when_idle:
            self._signal(signal.SIGSTOP)
            pids = process_trees.stop(*self._root)
        self.idleness.begins(pids)

    def start(self, message: dict[str, Any]) -> None:
        """Send the start message; `started` waits for the answer."""
        self._tell(encode({"type": "start", "role": self.role, **message}), (), "starting")

    def started(self) -> None:
        """Wait until the side has imported everything, its Solution included."""
        self.answer("started", limit_s=STARTUP_LIMIT_S, doing="starting")
        self._wait_for_turn()

    def ask(
        self,
        message: dict[str, Any],
        *,
        expect: str,
        limit_s: float,
        doing: str,
        descriptors: Sequence[int] = (),
    ) -> dict[str, Any]:
        """Send a request in the side's turn and return the answer. Raises SideFailed."""
        with self.turn():
            self._tell(encode(message), descriptors, doing)
            return self.answer(expect, limit_s=limit_s, doing=doing)

    def encoded(self, message: dict[str, Any]) -> Any:
        """A message as `go` sends it, encoded before the clock starts."""
        return encode(message)

    def go(self, order: Any, *, token: str, limit_s: float, doing: str, awake: bool) -> None:
        """The timed exchange: send the encoded order, receive its token.

        `awake`: busy-wait for the answer (see Channel.receive).
        """
        self._tell(order, (), doing)
        reply = self.answer("done", limit_s=limit_s, doing=doing, awake=awake)
        if reply.get("token") != token:
            raise self.failed("answered with the token of another round", doing)

    def _tell(
        self, content: bytes, descriptors: Sequence[int], doing: str, channel: int = 0
    ) -> None:
        try:
            self._channels[channel].send_encoded(content, descriptors)
        except ChannelTimeout as error:
            code = FailureCode.CANDIDATE_OUT_OF_TIME
            raise self.failed("stopped reading its channel", doing, code=code) from error
        except ChannelClosed:
            # `answer` reports its last message or how it ended.
            return

    def answer(
        self, expect: str, *, limit_s: float, doing: str, awake: bool = False, channel: int = 0
    ) -> dict[str, Any]:
        """Receive the next message, which must be of type `expect`. Raises SideFailed."""
        try:
            reply = self._channels[channel].receive(limit_s, awake=awake)
        except ChannelTimeout as error:
            raise self.out_of_time(limit_s, doing) from error
        except InvalidMessage as error:
            text = f"sent invalid data on the channel ({error})"
            raise self.failed(text, doing) from error
        except ChannelClosed as error:
            raise self._gone(doing) from error
        if reply["type"] == "failed":
            where = printable.line(reply.get("where") or "", _WHERE_LETTERS)
            said = printable.line(reply.get("error"), _ERROR_LETTERS)
            text = f"raised {said} ({where})" if where else f"raised {said}"
            is_memory = said.startswith(_OUT_OF_MEMORY)
            code = _MEMORY if is_memory else FailureCode.CANDIDATE_CRASHED
            failed = self.failed(text, doing, tail=False, log=reply.get("log"), code=code)
            raise SideRaised(str(failed), log=failed.log, code=failed.code, raised=text) from None
        if reply["type"] != expect:
            text = f"sent an unexpected message on the channel ({reply['type'][:40]!a})"
            raise self.failed(text, doing)
        return reply

    def _gone(self, doing: str) -> SideFailed:
        """The error of a side that closed its channel, from its exit status."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self.failed("closed its channel but kept running", doing)
        if _SIGNAL_STATUS < code < _SIGNAL_STATUS + signal.NSIG:
            code = _SIGNAL_STATUS - code
        if code == 0:
            return self.failed("exited with status 0 without a result", doing)
        if code == -signal.SIGKILL:
            text = "was killed by SIGKILL, most likely for lack of memory"
            return self.failed(text, doing, code=_MEMORY)
        if code == -signal.SIGSEGV:
            text = "died of SIGSEGV: an invalid pointer, or a write to the read-only state"
            return self.failed(text, doing)
        if code < 0:
            return self.failed(f"died of {_signal_name(-code)}", doing)
        return self.failed(f"exited with status {code}", doing)

    def out_of_time(self, limit_s: float, doing: str) -> SideFailed:
        """The error of a side that did not answer in time."""
        text = f"did not answer within {limit_s:g} s and was stopped"
        return self.failed(text, doing, code=FailureCode.CANDIDATE_OUT_OF_TIME)

    def failed(
        self,
        reason: str,
        doing: str,
        *,
        tail: bool = True,
        log: object = None,
        code: FailureCode = FailureCode.CANDIDATE_CRASHED,
    ) -> SideFailed:
        """An error of one line: who, what, when, and the last lines of output.

        Its log is `log`, a compiler's output, or else all that the side printed last. Its code is
        `code` for the candidate; another side is part of the benchmark.
        """
        text = f"the {self._who} {reason}, while {doing} ({self.where})"
        last = self._last_lines() if tail else ""
        message = f"{text}; its last lines: {last}" if last else text
        shown = printable.lines(log, _TAIL_BYTES) if isinstance(log, str) else self.output()
        blamed = code if self.role == "candidate" else FailureCode.BENCHMARK
        return SideFailed(message, log=shown or None, code=blamed)

    def output(self) -> str:
        """The end of what the side printed, tracebacks included: untrusted, made printable."""
        return printable.lines(self._tail(), _TAIL_BYTES)

    def _tail(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return log.read(_TAIL_BYTES).decode(errors="replace")

    def _last_lines(self) -> str:
        text = self._tail()
        lines = [printable.line(line, _LINE_LETTERS) for line in text.splitlines() if line.strip()]
        return " / ".join(_telling(lines))


def python_arguments(module: str) -> list[str]:
    """Python's arguments to run a module; -P: never import from the scratch folder."""
    return ["-P", "-X", "faulthandler", "-m", module]


def _signal_name(number: int) -> str:
    """The name of a signal; real-time signals have a number only."""
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")


def _telling(lines: list[str]) -> list[str]:
    """The most useful lines: of a crash, the frames at the top of faulthandler's dump."""
    for index, line in enumerate(lines):
        if line.startswith("Fatal Python error"):
            frames = [frame for frame in lines[index:] if frame.startswith("File")]
            return [line, *frames[:_TAIL_LINES]]
    return lines[-_TAIL_LINES:]
