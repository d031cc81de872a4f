"""A side of several ranks as the referee controls it: one process tree with a channel a rank.

Every request goes to all ranks, and its answer is that of the last. A rank that raises, dies, hangs
or breaks its channel fails the whole side at once, since the others wait for it.
"""

import select
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.devices.rank_layouts import AXIS
from benchmarks.harness.failures import SideFailed, SideRaised
from benchmarks.harness.sides.channel import encode
from benchmarks.harness.sides.processes import STARTUP_LIMIT_S, SideProcess

# Ranks that raised the same error answer within this time of each other.
_GRACE_S = 2.0
_MS_PER_S = 1e3


class RankGroup(SideProcess):
    """The ranks of a side; `channels` is their number."""

    _module = "benchmarks.harness.sides.rank_launcher"

    @property
    def pids(self) -> list[int]:
        launcher = self.pid
        try:
            children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        except OSError:
            children = []
        return [launcher, *map(int, children)]

    def start(self, message: dict[str, Any]) -> None:
        ranks = len(self._channels)
        for rank in range(ranks):
            own = {"type": "start", "role": self.role, **message, "rank": rank, "ranks": ranks}
            self._tell(encode(own), (), "starting", rank)

    def started(self) -> None:
        self._answers("started", limit_s=STARTUP_LIMIT_S, doing="starting")
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
        with self.turn():
            for rank, content in enumerate(self.encoded(message)):
                self._tell(content, descriptors[rank :: len(self._channels)], doing, rank)
            return _joined(self._answers(expect, limit_s=limit_s, doing=doing))

    def encoded(self, message: dict[str, Any]) -> list[bytes]:
        """Each rank's part of a message."""
        return [encode(_part(message, rank)) for rank in range(len(self._channels))]

    def go(
        self, order: list[bytes], *, token: str, limit_s: float, doing: str, awake: bool
    ) -> None:
        for rank, content in enumerate(order):
            self._tell(content, (), doing, rank)
        for rank, reply in enumerate(
            self._answers("done", limit_s=limit_s, doing=doing, awake=awake)
        ):
            if reply.get("token") != token:
                self._who = self._named(rank)
                raise self.failed("answered with the token of another round", doing)

    def _answers(
        self, expect: str, *, limit_s: float, doing: str, awake: bool = False
    ) -> list[dict[str, Any]]:
        """The answer of every rank, in rank order. Raises SideFailed."""
        deadline = time.monotonic() + limit_s
        replies: dict[int, dict[str, Any]] = {}
        raised: SideRaised | None = None
        waiting = {channel.fileno(): rank for rank, channel in enumerate(self._channels)}
        poller = select.poll()
        for number in waiting:
            poller.register(number, select.POLLIN)
        while waiting:
            left_s = max(0.0, deadline - time.monotonic())
            ready = poller.poll(0 if awake else left_s * _MS_PER_S)
            if not ready and left_s == 0:
                if raised is not None:
                    # The others wait for the rank that raised.
                    raise SideFailed(str(raised), log=raised.log, code=raised.code) from raised
                self._who = self._named(min(waiting.values()))
                raise self.out_of_time(limit_s, doing)
            for number, _ in ready:
                rank = waiting.pop(number)
                poller.unregister(number)
                self._who = self._named(rank)
                try:
                    replies[rank] = self.answer(expect, limit_s=limit_s, doing=doing, channel=rank)
                except SideRaised as error:
                    # Of a rank that died, the others' collectives may raise first.
                    raised = raised or error
                    deadline = min(deadline, time.monotonic() + _GRACE_S)
        if raised is not None:
            raise raised
        self._who = self.role
        return [replies[rank] for rank in range(len(self._channels))]

    def _named(self, rank: int) -> str:
        return f"{self.role}'s rank {rank}"


def _part(message: Any, rank: int) -> Any:
    """One rank's part of a message: its element of each {"ranks": […]}, its links of a chain."""
    if not isinstance(message, dict):
        return message
    if set(message) == {AXIS}:
        return message[AXIS][rank]
    part = {name: _part(value, rank) for name, value in message.items()}
    if part.get("chain"):
        mine = [link for link in part["chain"] if link["input"].endswith(f"@{rank}")]
        part["chain"] = [
            {**link, **{end: link[end].partition("@")[0] for end in ("input", "output")}}
            for link in mine
        ]
    return part


def _joined(replies: list[dict[str, Any]]) -> dict[str, Any]:
    """One answer of all ranks: the first's, with every rank's list of imports and changes."""
    joined = dict(replies[0])
    for name, value in replies[0].items():
        if isinstance(value, list):
            listed = [item for reply in replies for item in reply.get(name) or ()]
            joined[name] = list(dict.fromkeys(item for item in listed if isinstance(item, str)))
    return joined
