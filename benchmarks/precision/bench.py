"""Measure trials: each a set of fresh pairs of processes, with every condition in each pair.

The conditions of a trial share its pairs, which saves processes. Trials of one condition are
independent.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch

from benchmarks.harness.failures import ROLES
from benchmarks.harness.rounds import pairs
from benchmarks.harness.rounds.plans import RoundPlan
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import sides_of_a_pair
from benchmarks.precision import do_bench
from benchmarks.precision.conditions import AXES, DTYPES, Condition, conditions, workload

_RANDOM = random.SystemRandom()
_MANY_CALLS = {"cuda": 2000, "cpu": 100}


class Bench:
    """Measures trials on one device."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        # Sized in the first pair, as in a run.
        self._calls: dict[str, int] = {}
        self.unit_us = self._unit_us()
        self.conditions = conditions(self._kind, self.unit_us)

    @property
    def _kind(self) -> str:
        return self._setting.device.kind

    def trial(self) -> list[dict[str, Any]]:
        """One trial of every condition: a record's replicates, and `do_bench` for comparison."""
        found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in self.conditions}
        beside = self._beside()
        for index in range(self._setting.protocol["replicates"]):
            for name, entry in self._pair(index).items():
                found[name].append({"workloads": [entry]})
        return [
            {
                "condition": each.name,
                "true_ratio": each.true_ratio,
                "replicates": found[each.name],
                "do_bench": beside.get(each.name),
            }
            for each in self.conditions
        ]

    def _pair(self, index: int) -> dict[str, dict[str, Any]]:
        """Every condition's entry from one fresh pair, in random order."""
        entries = {}
        with ExitStack() as stack:
            sides = sides_of_a_pair.start(self._setting, index, _RANDOM.sample(ROLES, 2), stack)
            for condition in _RANDOM.sample(self.conditions, len(self.conditions)):
                entry = pairs.measure(
                    setting=self._setting,
                    sides=sides,
                    replicate=index,
                    workload=workload(condition),
                    calls=self._calls.get(condition.name),
                    plan=RoundPlan(rounds=self._setting.protocol["rounds"], level="operator"),
                )
                self._calls[condition.name] = entry["calls"]
                entries[condition.name] = entry
        return entries

    def _beside(self) -> dict[str, float]:
        """`do_bench`'s ratio of each A/A condition; CUDA only."""
        if self._kind != "cuda":
            return {}
        same = [each for each in self.conditions if each.call_us is not None]
        return {
            each.name: do_bench.ratio(partial(self._function, each))
            for each in _RANDOM.sample(same, len(same))
        }

    def _function(self, condition: Condition) -> Any:
        """The baseline's calls in this process, in memory of its own."""
        axes, device = condition.axes, self._setting.device.torch_device
        dtype = getattr(torch, DTYPES[self._kind])
        x = torch.randn(axes["rows"], axes["columns"], device=device, dtype=dtype)
        shape = axes["layers"], axes["columns"], axes["columns"]
        w = torch.randn(shape, device=device, dtype=dtype)
        y = torch.empty_like(x)

        def run() -> None:
            for unit in reversed(range(condition.baseline_units)):
                torch.mm(x, w[unit % len(w)], out=y)

        return run

    def _unit_us(self) -> float:
        many = _MANY_CALLS[self._kind]
        units = Condition(
            name="units",
            baseline_units=many,
            candidate_units=many,
            call_us=None,
            axes=AXES[self._kind],
        )
        run, best_s = self._function(units), float("inf")
        for _ in range(3):
            self._setting.device.synchronize()
            started = time.perf_counter()
            run()
            self._setting.device.synchronize()
            best_s = min(best_s, time.perf_counter() - started)
        return best_s / many * 1e6
