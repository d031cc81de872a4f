"""Measure one workload in one replicate: set up, warm up, size, run rounds in pairs."""

import random
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benchmarks.harness.devices import monitor
from benchmarks.harness.devices.idle import DeviceNotIdle
from benchmarks.harness.devices.telemetry import Reading
from benchmarks.harness.failures import Caught, DeviceFailed, Finding, Role
from benchmarks.harness.rounds import fixed_costs
from benchmarks.harness.rounds.fixed_costs import FixedCost
from benchmarks.harness.rounds.plans import RoundPlan, Setup
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from benchmarks.harness.rounds.sizing import Sizing
from benchmarks.harness.rounds.workload_side import WorkloadSide
from benchmarks.harness.sides.processes import SideProcess

_RANDOM = random.SystemRandom()
_EMPTY_ROUNDS = 9
# Part rounds are more precise; empty rounds then only give the lower bound.
_EMPTY_ROUNDS_BESIDE_PARTS = 5
_ROUNDS_OF_A_REPETITION = 2

OnRound = Callable[[int, float, float], None]


def measure(
    *,
    setting: Setting,
    sides: dict[Role, SideProcess],
    replicate: int,
    workload: dict[str, Any],
    plan: RoundPlan,
    calls: int | None = None,
    setups: dict[Role, Setup] | None = None,
    on_round: OnRound | None = None,
) -> dict[str, Any]:
    """Measure one workload and return the record's entry; without `calls`, it sizes the rounds.

    Raises SideFailed or Caught.
    """
    captured = setting.captured.get(workload["name"])
    with (
        SharedState(setting, workload["axes"], plan.level, captured) as state,
        ExitStack() as stack,
    ):
        workload_sides = {
            role: stack.enter_context(
                WorkloadSide(
                    setting=setting,
                    side=side,
                    replicate=replicate,
                    workload=workload,
                    state=state,
                    level=plan.level,
                )
            )
            for role, side in sides.items()
        }
        try:
            _set_up(setting, workload_sides, setups or {role: Setup() for role in sides})
            chain_us = setting.chain_us.get(workload["name"]) if plan.level == "program" else None
            pair = _Pair(setting, workload_sides, state, plan, chain_us)
            entry = pair.measure(calls, on_round or _ignore)
            setting.monitor.look_around(pid for side in sides.values() for pid in side.pids)
            for workload_side in workload_sides.values():
                workload_side.release()
        except DeviceNotIdle:
            raise _blamed(setting, sides, replicate, workload["name"]) from None
        except BaseException:
            # End the sides before the memory that they have open is freed.
            for side in sides.values():
                side.end()
            raise
    return {"name": workload["name"], **entry}


def _set_up(
    setting: Setting, workload_sides: dict[Role, WorkloadSide], setups: dict[Role, Setup]
) -> None:
    """Set up both sides in random order, each up to its first round."""
    with setting.phases.of("setup"):
        for role in _RANDOM.sample(sorted(workload_sides), len(workload_sides)):
            workload_sides[role].setup()
            setups[role].add(workload_sides[role])
            workload_sides[role].round_us()


def _blamed(
    setting: Setting, sides: dict[Role, SideProcess], replicate: int, workload: str
) -> Exception:
    """End one side after the other to find the one that keeps the device busy."""
    for role in ("candidate", "baseline"):
        sides[role].end()
        if setting.idle_check.undisturbed():
            message = f"the {role} left work running on the device between its turns"
            return Caught(
                Finding(
                    kind="idle", side=role, replicate=replicate, workload=workload, message=message
                )
            )
    return DeviceFailed("another process computes on this device; a run needs it exclusively")


def _ignore(index: int, baseline_us: float, candidate_us: float) -> None:
    """Rounds outside the displayed estimate."""


class _Pair:
    def __init__(
        self,
        setting: Setting,
        workload_sides: dict[Role, WorkloadSide],
        state: SharedState,
        plan: RoundPlan,
        chain_us: float | None = None,
    ) -> None:
        self._chain_us = chain_us
        self._setting = setting
        self._workload_sides = workload_sides
        self._state = state
        self._plan = plan
        self._cost = FixedCost(0.0)
        self._parts_us: dict[Role, list[float]] = {role: [] for role in workload_sides}

    def measure(self, calls: int | None, on_round: OnRound) -> dict[str, Any]:
        """The record's entry of this workload; `calls` None sizes the rounds first."""
        phases = self._setting.phases
        with phases.of("sizing"):
            sizing = Sizing(self._setting, self._workload_sides, self._state)
            chosen = sizing.calls() if calls is None else calls
            sizing.bind(chosen)
        with ExitStack() as stack:
            for workload_side in self._workload_sides.values():
                stack.enter_context(workload_side.side.held())
            with phases.of("measuring"):
                entry = self.rounds(chosen, on_round)
                entry["single"] = self.singles(chosen)
        # A write to the state that no round's check saw is attributed to the candidate, because the
        # baseline is the catalogue's own code.
        self._workload_sides["candidate"].check_state()
        return entry

    def _empty_us(self) -> float:
        """The fixed cost of an empty round: the lower of the sides' usual ones, for both.

        The lower, because a candidate could answer empty rounds slowly to have more subtracted. On
        a processor each side's quickest: other work there lengthens most of them, some to several
        times a whole round, which then cannot be measured.
        """
        usual = min if self._setting.device.kind == "cpu" else statistics.median
        count = (
            _EMPTY_ROUNDS_BESIDE_PARTS
            if self._workload_sides["baseline"].has_parts
            else _EMPTY_ROUNDS
        )
        return min(
            usual([workload_side.empty_round_us() for _ in range(count)])
            for workload_side in self._workload_sides.values()
        )

    def warm_up(self) -> None:
        """Run the rounds and the time of both sides that the protocol asks for as warm-up.

        In all but content they are the rounds that follow, and sometimes there are more of them, so
        that a side cannot tell which rounds count.
        """
        protocol = self._setting.protocol
        done, busy_us = 0, 0.0
        with self._setting.phases.of("warming_up"):
            while done < max(1, protocol["warmup_rounds"]) or busy_us < 1e3 * protocol["warmup_ms"]:
                busy_us += self._repeated_us()
                done += _ROUNDS_OF_A_REPETITION
            if _RANDOM.randrange(2):
                self._repeated_us()

    def _repeated_us(self) -> float:
        """Run a round of each side and the same again."""
        return sum(each.repeated_us() for each in self._workload_sides.values())

    def rounds(self, calls: int, on_round: OnRound) -> dict[str, Any]:
        """Run the pairs in random order, with empty rounds before and after.

        The lower fixed cost of these counts: too high a cost would raise a ratio above 1.
        """
        cost = self._cost = FixedCost(self._empty_us())
        # Empty rounds right before those that count would announce them.
        self.warm_up()
        count = self._plan.rounds
        rounds: list[tuple[Role, dict[Role, float]]] = []
        readings: dict[Role, list[Reading | None]] = {role: [] for role in self._workload_sides}
        renewed_before = _RANDOM.randrange(1, count) if self._plan.renews_state else None
        for index in range(count):
            if index == renewed_before:
                self.renew_state()
            whole_us = self._one_of_each(readings)
            first = next(iter(whole_us))
            rounds.append((first, whole_us))
            so_far = self._entry(first, whole_us, cost.empty_us, calls)
            on_round(index, so_far["baseline_us"], so_far["candidate_us"])
        cost.empty_us = min(cost.empty_us, self._empty_us())
        cost.parts_us = self._parts_us["baseline"]
        off_us = cost.off_us([took_us["baseline"] for _, took_us in rounds], calls)
        return {
            **self._parts(calls, off_us),
            "calls": calls,
            "overhead_us": off_us,
            "working_set_bytes": self._state.layout.nbytes
            + calls * self._workload_sides["baseline"].call_bytes(),
            **({} if self._chain_us is None else {"chain_us": self._chain_us}),
            "rounds": [self._entry(first, took_us, off_us, calls) for first, took_us in rounds],
            "telemetry": monitor.columns(readings),
            "checks": self._workload_sides["candidate"].totals.as_data()
            | {"rms": {role: side.totals.rms() for role, side in self._workload_sides.items()}},
        }

    def _one_of_each(self, readings: dict[Role, list[Reading | None]]) -> dict[Role, float]:
        """A round of each side, and a part round where useful, in random order.

        The side that ran last is warm and faster. So every length of either side follows every
        other one equally often, and both gain the same. That is the only use of the candidate's
        part round, so a control compares its length with that of the whole ones.
        """
        turns = [(role, True) for role in self._workload_sides]
        turns += [
            (role, False)
            for role, workload_side in self._workload_sides.items()
            if workload_side.has_parts
        ]
        whole_us: dict[Role, float] = {}
        for role, whole in _RANDOM.sample(turns, len(turns)):
            workload_side = self._workload_sides[role]
            if whole:
                whole_us[role] = workload_side.round_us()
                readings[role].append(workload_side.reading)
            else:
                self._parts_us[role].append(workload_side.part_us())
        return whole_us

    def _parts(self, calls: int, off_us: float) -> dict[str, Any]:
        """The part rounds for the record, in us per call; nothing where there are none."""
        part = fixed_costs.part_of(calls)
        if part is None or not self._parts_us["baseline"]:
            return {}
        return {
            "parts": {
                "calls": part,
                **{
                    role: [self._per_call_us(took_us, off_us, part) for took_us in parts_us]
                    for role, parts_us in self._parts_us.items()
                },
            }
        }

    def renew_state(self) -> None:
        """Refill the state at a random moment; both sides prepare again, untimed.

        The following rounds are checked against the new contents, so anything cached from the old
        ones is wrong.
        """
        with self._setting.phases.of("setup"):
            # Check first: a write to the old contents would not show afterwards.
            self._workload_sides["candidate"].check_state()
            self._state.refill()
            for role in _RANDOM.sample(sorted(self._workload_sides), len(self._workload_sides)):
                self._workload_sides[role].renew()
        self.warm_up()

    def singles(self, calls: int) -> dict[Role, list[float]] | None:
        """Times of one-call rounds in us; None where every round has one call.

        The fixed cost of so short a round is that of an empty one.
        """
        if calls == 1 or self._plan.single_rounds == 0:
            return None
        took_us: dict[Role, list[float]] = {role: [] for role in self._workload_sides}
        for _ in range(self._plan.single_rounds):
            for role in _RANDOM.sample(sorted(self._workload_sides), len(self._workload_sides)):
                took_us[role].append(self._workload_sides[role].single_us() - self._cost.empty_us)
        return took_us

    def _entry(
        self, first: Role, took_us: dict[Role, float], off_us: float, calls: int
    ) -> dict[str, Any]:
        """A pair of rounds for the record."""
        per_call = {
            f"{role}_us": self._per_call_us(whole_us, off_us, calls)
            for role, whole_us in took_us.items()
        }
        return {"first": first, **per_call}

    def _per_call_us(self, took_us: float, off_us: float, calls: int) -> float:
        """A round's time per call, without its fixed cost and its chain of calls."""
        return (took_us - off_us - (calls - 1) * (self._chain_us or 0.0)) / calls
