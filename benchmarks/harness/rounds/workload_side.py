"""One side in one workload: its memory, its rounds and their checks."""

import contextlib
import gc
import os
import random
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch

from benchmarks.harness.devices import contents, rank_layouts
from benchmarks.harness.devices.arenas import Arena, Device
from benchmarks.harness.devices.chaining import Chain
from benchmarks.harness.devices.idle import DeviceNotIdle
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.devices.telemetry import Reading
from benchmarks.harness.rounds import audits, chains, fixed_costs
from benchmarks.harness.rounds.checks import CheckTotals
from benchmarks.harness.rounds.inspections import Inspection
from benchmarks.harness.rounds.probes import Probe
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from benchmarks.harness.sides import levels
from benchmarks.harness.sides.processes import SideProcess

_RANDOM = random.SystemRandom()
# Attempts with new inputs, because one failure may be chance.
_ATTEMPTS = 5
# Sides and CUDA have threads of their own.
_PROCESSORS_TO_SPARE_ONE = 4


def _spares_a_processor(device: Device) -> bool:
    """Whether the referee may busy-wait: not where the sides compute on the CPU."""
    return device.kind != "cpu" and len(os.sched_getaffinity(0)) >= _PROCESSORS_TO_SPARE_ONE


class WorkloadSide:
    """A side's calls in one workload; the context frees the referee's memory."""

    def __init__(
        self,
        *,
        setting: Setting,
        side: SideProcess,
        replicate: int,
        workload: dict[str, Any],
        state: SharedState,
        level: str,
    ) -> None:
        self.side = side
        self.reading: Reading | None = None
        self._level = level
        self._awake = _spares_a_processor(setting.device)
        self.setup_s = 0.0
        self.setup_memory_bytes: int | None = None
        self.totals = CheckTotals()
        self._setting = setting
        self._replicate = replicate
        self._workload = workload
        self._state = state
        self._captured = setting.captured.get(workload["name"])
        self._arenas: list[Arena] = []
        # By output, the middle of what it was in an earlier round.
        self._thresholds: dict[str, float] = {}
        self._inputs = self._plan("inputs", 1)
        self._outputs = self._plan("outputs", 1)
        self._inspection = Inspection(
            setting=setting,
            role=side.role,
            replicate=replicate,
            workload=workload,
            state=state,
            totals=self.totals,
            level=level,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for arena in self._arenas:
            arena.close()
        self._arenas = []

    def setup(self) -> None:
        """Have the side build its step on the state and call it once, untimed."""
        message, descriptors = self._state.as_message()
        device = self._setting.device
        own_before = device.side_memory_bytes(self.side.pid)
        free_before = device.free_bytes()
        started = time.perf_counter()
        message |= {"type": "setup", "level": self._level, "axes": self._workload["axes"]}
        self._ask(message, "ready", "setup", descriptors)
        self.bind(1)
        self.setup_s = time.perf_counter() - started
        own_after = device.side_memory_bytes(self.side.pid)
        if own_before is None or own_after is None:
            self.setup_memory_bytes = max(0, free_before - device.free_bytes())
        else:
            self.setup_memory_bytes = max(0, own_after - own_before)

    def _ask(
        self, message: dict[str, Any], expect: str, what: str, descriptors: Sequence[int] = ()
    ) -> None:
        limit_s = self._setting.protocol["setup_limit_s"]
        doing = self._doing(what)
        self.side.ask(message, descriptors=descriptors, expect=expect, limit_s=limit_s, doing=doing)

    def _doing(self, what: str) -> str:
        return f"in {what} of workload {self._workload['name']!r}"

    def call_bytes(self) -> int:
        """Memory of one call's inputs and outputs, guards included."""
        return sum(self._plan(part, 1).nbytes for part in ("inputs", "outputs"))

    def _plan(self, part: str, calls: int) -> Layout:
        specs = levels.specs(self._setting.definition, self._level, part)
        return rank_layouts.plan(
            specs, self._workload["axes"], self._setting.document["dtype"], calls
        )

    def bind(self, calls: int) -> None:
        """Give the side inputs and outputs for `calls` calls, replacing the previous ones."""
        if self._arenas and self._outputs.calls == calls:
            return
        device = self._setting.device
        # On CUDA a side must close memory before its owner frees it, so free after the bind.
        before, self._arenas = self._arenas, []
        descriptors: list[int] = []
        self._inputs, self._outputs = self._plan("inputs", calls), self._plan("outputs", calls)
        message: dict[str, Any] = {"type": "bind", "rounds": self._rounds()}
        for part, layout in (("inputs", self._inputs), ("outputs", self._outputs)):
            arena = device.allocate(layout.nbytes, read_only=False)
            self._arenas.append(arena)
            handle, opened = arena.handle()
            descriptors.extend(opened)
            message[part] = {"layout": layout.as_data(), "arena": handle}
        contents.refill(self._arenas[0].memory, self._inputs, self._setting.source, self._captured)
        self._private_inputs = self._arenas[0].memory.clone()
        self._sealed_inputs = 0
        self._chain: Chain | None = None
        self._probe = Probe(self._outputs, self._arenas[1].memory)
        device.synchronize()
        self._ask(message, "bound", "setup", descriptors)
        for arena in before:
            arena.close()

    def _rounds(self) -> list[int]:
        """The lengths of rounds, which a side may capture as one graph each."""
        calls, part = self._outputs.calls, self._part
        return [calls] if part is None else [calls, part]

    def empty_round_us(self) -> float:
        """Time a round without calls, including the probe."""
        return self._clocked(range(0), None, self._probe.draw)

    def single_us(self) -> float:
        """Time a round of one random call, which cannot gain from batching. Raises Caught."""
        call = _RANDOM.randrange(self._outputs.calls)
        return self._round_us(range(call, call + 1))

    @property
    def has_parts(self) -> bool:
        """Whether part rounds measure the fixed cost."""
        return self._part is not None

    @property
    def _part(self) -> int | None:
        """The calls of a part round; None on shared processors, where noise exceeds the effect."""
        return fixed_costs.part_of(self._outputs.calls) if self._awake else None

    def part_us(self) -> float:
        """Time a part round of the first calls, checked like any other."""
        return self._round_us(range(self._part or 0))

    def round_us(self) -> float:
        """Run one round: new inputs, poison, the clock, every check. Raises Caught.

        Returns the time including the fixed cost.
        """
        return self._round_us(range(self._outputs.calls))

    def repeated_us(self) -> float:
        """Run one round and the same again, and compare their outputs. Raises Caught.

        Only the second can be told from others, by a side that compares inputs.
        """
        first_us = self.round_us()
        earlier = self._arenas[1].memory.clone()
        return first_us + self._round_us(range(self._outputs.calls), earlier=earlier)

    def _round_us(self, ran: range, *, earlier: torch.Tensor | None = None) -> float:
        """`earlier`: the outputs of the last round, whose inputs this one has again."""
        inputs, outputs = (arena.memory for arena in self._arenas)
        canaries: dict[str, int] = {}

        def fill() -> None:
            with self._setting.phases.of("filling"):
                if earlier is None:
                    self._draw_inputs()
                canaries.update(contents.poison(outputs, self._outputs))
                self._probe.draw()

        if earlier is None:
            self._chain = self._drawn_chain()
        chain = self._chain
        elapsed_us = self._clocked(ran, chain, fill)
        # Read before the checks load the device.
        self.reading = self._setting.monitor.reading()
        with self._setting.phases.of("checking"):
            self._inspection.inspect(
                inputs=(self._inputs, inputs, self._private_inputs),
                sealed_inputs=self._sealed_inputs,
                outputs=(self._outputs, outputs),
                canaries=canaries,
                probe=self._probe,
                round_s=elapsed_us / 1e6,
                earlier=earlier,
                ran=ran,
                chain=chain,
            )
            self._thresholds = self._probe.middles()
            self._inspection.check_idleness(self.side.idleness)
            self._inspection.check_threads(self.side.round_time)
            self._audit()
        return elapsed_us

    def _drawn_chain(self) -> Chain | None:
        """A new secret chain; None where calls are independent."""
        return chains.drawn(self._setting, self._level, self._inputs, self._thresholds)

    def _audit(self) -> None:
        """Have the candidate's process list what changed outside the slot. Raises Caught."""
        if self.side.role != "candidate":
            return
        self._inspection.check_reach(audits.of(self._setting, self.side, self._doing("an audit")))

    def _draw_inputs(self) -> None:
        """New inputs, in memory that no side sees."""
        private = self._private_inputs
        contents.refill(private, self._inputs, self._setting.source, self._captured)
        self._sealed_inputs = self._setting.checksum.of(private)

    def _hand_over(self) -> int:
        """Give the side its inputs; returns when, by `time.perf_counter_ns`."""
        return self._setting.idle_check.hand_over(self._arenas[0].memory, self._private_inputs)

    def renew(self) -> None:
        """Have the side rebuild its step on the refilled state."""
        self._ask({"type": "renew"}, "renewed", "setup on new state")

    def check_state(self) -> None:
        """Raise Caught if the shared state changed."""
        self._inspection.check_state()

    def _clocked(self, ran: range, chain: Chain | None, fill: Callable[[], object]) -> float:
        """Time a round that `fill` prepares. Raises DeviceNotIdle when the device never is."""
        for _ in range(_ATTEMPTS):
            fill()
            with contextlib.suppress(DeviceNotIdle):
                return self._timed(ran, chain)
        raise DeviceNotIdle

    def _timed(self, ran: range, chain: Chain | None) -> float:
        token = secrets.token_hex(8)
        order = self.side.encoded(
            {
                "type": "go",
                "first": ran.start,
                "calls": len(ran),
                "token": token,
                "chain": None if chain is None else chain.as_data(),
            }
        )
        limit_s = self._setting.protocol["round_limit_s"]
        doing = self._doing("a round")
        at_last = self._hand_over
        if not self._setting.idle_check.watches:
            # On a processor a stopped side that wakes itself shows until its turn begins.
            self._hand_over()
            at_last = time.perf_counter_ns
        self._setting.device.synchronize()
        gc.disable()
        try:
            with self._turn(at_last) as began_ns:
                self.side.go(order, token=token, limit_s=limit_s, doing=doing, awake=self._awake)
                # Inside the clock: work that the answer did not wait for either counts or reads as
                # poison.
                self._probe.read()
                elapsed_ns = time.perf_counter_ns() - began_ns
        finally:
            gc.enable()
        return elapsed_ns / 1e3

    def _turn(self, at_last: Callable[[], int]) -> contextlib.AbstractContextManager[int]:
        """The side's turn for a round; on a processor its threads are counted."""
        side = self.side
        return side.round(at_last) if self._setting.device.kind == "cpu" else side.turn(at_last)

    def release(self) -> None:
        """Have the side free the workload."""
        self._ask({"type": "release"}, "released", "the end")
