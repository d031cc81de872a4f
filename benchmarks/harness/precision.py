"""How precise the referee is on this machine, measured on work whose true ratio is known.

    python -m benchmarks.harness.precision --device cuda --budget-s 150 --out precision.json

A/A: the same work on both sides; each trial has state, memory and inputs of its own, runs in
one of four pairs of processes, and takes its interval from its rounds. `do_bench` times the
same function twice in this process. Power: the baseline computes 39, 40 or 41 units where the
candidate computes 20; a trial is a whole verdict, with one replicate in each pair.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import candidates, isolation, operators, pairs, referee, replicates
from benchmarks.harness.counted import times_us
from benchmarks.harness.failures import Role
from benchmarks.harness.processes import SideProcess
from benchmarks.harness.settings import Setting
from benchmarks.harness.statistics import Floats, Samples, estimate, inside_band

_FOLDER = Path(__file__).with_name("synthetic")
_SIZES = {"cuda": (1024, 2048, "bfloat16"), "cpu": (16, 128, "float32")}
_CALLS_US = {"cuda": (10, 100, 1_000, 10_000), "cpu": (1_000, 10_000)}
_ROUNDS = {"cuda": 10, "cpu": 6}
_CANDIDATE_UNITS = 20
_POWER = (39, 40, 41)
_PAIRS = 4
_TARGET, _CONFIDENCE = 2.0, 0.95


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One ratio with its interval; `do_bench` is that of the same function timed twice."""

    condition: str
    ratio: float
    low: float
    high: float
    do_bench: float | None = None


def document(device: str) -> dict[str, Any]:
    """The benchmark of the synthetic operator; its workloads are filled in per trial."""
    rows, columns, dtype = _SIZES[device]
    definition = operators.part("unit_products", "op").DEFINITION
    plain = json.loads(json.dumps(definition.as_data()))
    axes = {"rows": rows, "columns": columns, "baseline_units": 1, "candidate_units": 1}
    return {
        "operator": "unit_products",
        "dtype": dtype,
        "definition": plain,
        "program": {"name": "the product alone", "launch": "eager"},
        "sources": {},
        "workloads": [{"name": "units", "axes": axes, "weight": 1.0}],
        "tolerance": plain["tolerances"][dtype],
        "baseline": {"name": "units", "package": "torch", "title": "torch.mm"},
        "protocol": {
            "rounds": _ROUNDS[device],
            "warmup_rounds": 1,
            "warmup_ms": 0.0,
            "round_ms": 22.0,
            "max_calls": 4096,
            "checked_calls": 1,
            "setup_limit_s": 60.0,
            "round_limit_s": 60.0,
            "held_back_shapes": 0,
            "operator_rounds": 0,
            "aa_rounds": 0,
        },
    }


class Bench:
    """One pair of sides after the other, and trials on the one that is up."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._calls: dict[str, int] = {}
        self._sides: dict[Role, SideProcess] = {}
        self._pair = 0
        # For each verdict on the baseline's units, the replicates that it has so far.
        self._replicates: dict[tuple[int, int], list[tuple[Floats, Floats]]] = {}
        self.unit_us = self._unit_us()

    @contextlib.contextmanager
    def fresh_pair(self, index: int) -> Iterator[None]:
        """Start a pair. One at a time: sides of the same role are the same user."""
        with ExitStack() as stack:
            self._pair = index
            self._sides = replicates.start(self._setting, index, ["baseline", "candidate"], stack)
            yield

    def _function(self, units: int) -> Any:
        rows, columns, dtype = _SIZES[self._setting.device.kind]
        where = {"device": self._setting.device.torch_device, "dtype": getattr(torch, dtype)}
        x, w = torch.randn(rows, columns, **where), torch.randn(columns, columns, **where)
        y = torch.empty_like(x)

        def run() -> None:
            for _ in range(units):
                torch.mm(x, w, out=y)

        return run

    def _unit_us(self) -> float:
        many, run = 200, self._function(1)
        for times in (many, many):
            self._setting.device.synchronize()
            started = time.perf_counter()
            for _ in range(times):
                run()
            self._setting.device.synchronize()
        return (time.perf_counter() - started) / many * 1e6

    def rounds(self, baseline_units: int, candidate_units: int) -> tuple[Floats, Floats]:
        """Baseline and candidate times of one fresh measurement, in us a call."""
        axes = self._setting.document["workloads"][0]["axes"]
        units = {"baseline_units": baseline_units, "candidate_units": candidate_units}
        name = f"{baseline_units} to {candidate_units}"
        entry = pairs.measure(
            setting=self._setting,
            sides=self._sides,
            setups={role: pairs.Setup() for role in self._sides},
            replicate=self._pair,
            workload={"name": name, "axes": {**axes, **units}, "weight": 1.0},
            calls=self._calls.get(name),
            on_round=lambda index, baseline_us, candidate_us: None,
            rounds=self._setting.protocol["rounds"],
        )
        self._calls[name] = entry["calls"]
        baseline, candidate = times_us(entry["rounds"])
        kept = inside_band(baseline, candidate)
        return (baseline[kept], candidate[kept]) if kept.sum() > 1 else (baseline, candidate)

    def same(self, call_us: int) -> Trial:
        """One A/A trial of about `call_us` a call."""
        units = max(1, round(call_us / self.unit_us))
        samples: Samples = {"units": [self.rounds(units, units)]}
        found = estimate(samples, {"units": 1.0}, confidence=_CONFIDENCE).overall
        return Trial(
            condition=f"A/A {call_us} us",
            ratio=found.ratio,
            low=found.low,
            high=found.high,
            do_bench=self._do_bench(units),
        )

    def _do_bench(self, units: int) -> float | None:
        if self._setting.device.kind != "cuda":
            return None
        from triton.testing import do_bench

        function = self._function(units)
        first, second = (do_bench(function, warmup=5, rep=20) for _ in range(2))
        return float(first / second)

    def power(self, baseline_units: int, verdict: int) -> None:
        """One replicate of that verdict on a candidate of true ratio baseline_units to 20."""
        mine = self._replicates.setdefault((baseline_units, verdict), [])
        mine.append(self.rounds(baseline_units, _CANDIDATE_UNITS))

    def verdicts(self) -> list[Trial]:
        """A trial for each verdict that has a replicate in every pair."""
        return [
            _verdict(baseline_units, samples)
            for (baseline_units, _), samples in sorted(self._replicates.items())
            if len(samples) == _PAIRS
        ]


def _verdict(baseline_units: int, samples: list[tuple[Floats, Floats]]) -> Trial:
    found = estimate({"units": samples}, {"units": 1.0}, confidence=_CONFIDENCE).overall
    return Trial(
        condition=f"true {baseline_units / _CANDIDATE_UNITS:.2f}x",
        ratio=found.ratio,
        low=found.low,
        high=found.high,
    )


def table(trials: list[Trial]) -> list[dict[str, Any]]:
    """A row for each condition."""
    rows = []
    for condition in dict.fromkeys(trial.condition for trial in trials):
        mine = [trial for trial in trials if trial.condition == condition]
        ratios = [trial.ratio for trial in mine]
        beside = [trial.do_bench for trial in mine if trial.do_bench is not None]
        rows.append(
            {
                "condition": condition,
                "trials": len(mine),
                "least_ratio": min(ratios),
                "greatest_ratio": max(ratios),
                "half_width": float(np.median([(t.high / t.low - 1) / 2 for t in mine])),
                "holds_one": sum(t.low <= 1 <= t.high for t in mine),
                "met": sum(t.low >= _TARGET for t in mine),
                "missed": sum(t.high < _TARGET for t in mine),
                "do_bench": [min(beside), max(beside)] if beside else None,
            }
        )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """The table in Markdown, as the README has it."""
    print("| condition | trials | ratio | median half-width | holds 1 | do_bench |")
    print("|---|---|---|---|---|---|")
    for row in (row for row in rows if row["condition"].startswith("A/A")):
        beside = row["do_bench"]
        said = "" if beside is None else f"{beside[0]:.4f}-{beside[1]:.4f}"
        print(
            f"| {row['condition']} | {row['trials']} | {row['least_ratio']:.4f}-"
            f"{row['greatest_ratio']:.4f} | {row['half_width']:.2%} | "
            f"{row['holds_one']} of {row['trials']} | {said} |"
        )
    print("\n| truly | verdicts | ratio | met | missed | inconclusive |")
    print("|---|---|---|---|---|---|")
    for row in (row for row in rows if row["condition"].startswith("true")):
        left = row["trials"] - row["met"] - row["missed"]
        print(
            f"| {row['condition'].removeprefix('true ')} | {row['trials']} | "
            f"{row['least_ratio']:.4f}-{row['greatest_ratio']:.4f} | {row['met']} | "
            f"{row['missed']} | {left} |"
        )


def measured(bench: Bench, device: str, most: int, budget_s: float) -> list[Trial]:
    """Trials of every condition in turn until there are `most` of each, or time is up.

    Each pair gets its share of the trials and of the time.
    """
    began, trials = time.monotonic(), []
    for pair in range(_PAIRS):
        ends = began + budget_s * (pair + 1) / _PAIRS
        with bench.fresh_pair(pair):
            for index in range(-(-most // _PAIRS)):
                for call_us in _CALLS_US[device]:
                    if time.monotonic() < ends:
                        trials.append(bench.same(call_us))
                for units in _POWER:
                    if time.monotonic() < ends:
                        bench.power(units, index)
    return trials + bench.verdicts()


def main() -> None:
    """Measure, print the tables, write every trial."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness.precision")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--budget-s", type=float, default=150.0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ[operators.SEARCH_PATH_VARIABLE] = str(_FOLDER)
    started = time.monotonic()
    isolation.hide_referee()
    torch.set_grad_enabled(False)
    candidate = candidates.read(str(_FOLDER / "unit_products" / "candidate.py"))
    with tempfile.TemporaryDirectory(prefix="twofold-") as folder:
        setting = referee.prepared(document(asked.device), candidate, asked.device, Path(folder))
        bench = Bench(setting)
        left_s = asked.budget_s - (time.monotonic() - started)
        trials = measured(bench, asked.device, asked.trials, left_s)
    rows = table(trials)
    show(rows)
    print(f"\none unit {bench.unit_us:.1f} us; {time.monotonic() - started:.0f} s in all")
    if asked.out is not None:
        found = {"rows": rows, "trials": [asdict(trial) for trial in trials]}
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
