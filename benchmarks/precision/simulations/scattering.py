"""Simulate candidates whose processes scatter: random runs, judged like real ones.

    python -m benchmarks.precision.simulations.scattering

The baseline's processes differ by `between`, the candidate's by `candidate`, rounds by 0.2%; with
the chance `slow`, a process of the candidate is twelve times slower. Replicates, rounds and looks
are those of the presets for an H200 and for any GPU, the target is 2x. Counted are the verdicts and
the intervals that hold the target, by the first rules and by the second (`statistics.rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.verdict import verdicts
from benchmarks.verdict.statistics import interim
from kernels import protocols
from kernels.output import exit_when_stdout_closes

SEED = 20261123
README = Path(__file__).parents[1] / "README.md"
TARGET = 2.0
SLOWER = 12.0
_WITHIN = 0.002
PRESETS = {"H200": protocols.H200, "any GPU": protocols.CUDA}


@dataclass(frozen=True, kw_only=True)
class Case:
    """True ratio of a usual process, and how processes differ."""

    preset: str
    ratio: float
    between: float
    candidate: float
    slow: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Shares of runs; `holds_target` counts last intervals that contain the target."""

    met: float
    missed: float
    inconclusive: float
    holds_target: float

    def __str__(self) -> str:
        shares = (self.met, self.missed, self.inconclusive, self.holds_target)
        return " | ".join(f"{share:.1%}" for share in shares)


CASES = (
    *(
        Case(preset=preset, ratio=1.0, between=between, candidate=between, slow=0.2)
        for preset in PRESETS
        for between in (0.002, 0.02)
    ),
    *(
        Case(preset=preset, ratio=ratio, between=0.005, candidate=candidate)
        for preset in PRESETS
        for ratio in (1.98, 2.0, 2.02)
        for candidate in (0.005, 0.015)
    ),
)


def simulated(case: Case, *, rules: int, runs: int, seed: int = SEED) -> Rates:
    """Rates over `runs` runs; the same seed gives the same runs."""
    random = np.random.RandomState(seed)
    counts = dict.fromkeys(("met", "missed", "inconclusive", "holds_target"), 0)
    for _ in range(runs):
        last = _last_look(_record(case, random, rules))
        counts[last.verdict] += 1
        counts["holds_target"] += last.low <= TARGET <= last.high
    return Rates(**{name: count / runs for name, count in counts.items()})


def _record(case: Case, random: np.random.RandomState, rules: int) -> dict[str, Any]:
    """The parts of a record that a look needs."""
    sealed = PRESETS[case.preset]
    return {
        "benchmark": {
            "target": TARGET,
            "confidence": 0.95,
            "workloads": [{"name": "w", "weight": 1.0}],
            "protocol": {
                "replicates": sealed.replicates,
                "max_replicates": sealed.max_replicates,
                "look_every": sealed.look_every,
                "clock_band": sealed.clock_band,
                "noise_band": sealed.noise_band,
                "interrupted_band": sealed.interrupted_band,
                "rules": rules,
            },
        },
        "replicates": [
            {"workloads": [{"name": "w", "telemetry": None, "rounds": rounds}]}
            for rounds in (
                _rounds(case, random, sealed.rounds) for _ in range(sealed.max_replicates)
            )
        ],
    }


def _rounds(case: Case, random: np.random.RandomState, count: int) -> list[dict[str, float]]:
    paces = np.exp(np.array([case.between, case.candidate]) * random.randn(2))
    paces[1] *= SLOWER if random.rand() < case.slow else 1.0
    times = np.array([[100 * case.ratio], [100.0]]) * paces[:, None]
    times = times * (1 + _WITHIN * random.randn(2, count))
    return [{"baseline_us": b, "candidate_us": c} for b, c in times.T.tolist()]


def _last_look(record: dict[str, Any]) -> verdicts.Look:
    """The look at which the run stops."""
    for count in interim.schedule(record["benchmark"]["protocol"]):
        look = verdicts.look(record, count)
        if look.verdict != "inconclusive":
            break
    return look


def rows(runs: int) -> Iterator[str]:
    """The lines of the table."""
    said = "met | missed | inconclusive | holds 2x"
    yield f"| preset | usually | between | candidate | slow | rules 1: {said} | rules 2: {said} |"
    yield "|---" * 13 + "|"
    for case in CASES:
        found = (simulated(case, rules=rules, runs=runs) for rules in (1, 2))
        yield (
            f"| {case.preset} | {case.ratio:.2f} | {case.between:.1%} | {case.candidate:.1%} | "
            f"{case.slow:.0%} | {' | '.join(map(str, found))} |"
        )


if __name__ == "__main__":
    with exit_when_stdout_closes():
        for line in rows(500):
            print(line, flush=True)
