"""Simulate verdicts on busy machines: random runs, judged like real ones.

    python -m benchmarks.precision.simulations.busy_machines

Bursts of other work start and end from round to round on either side, and lengthen rounds by a
heavy-tailed share; some processes are slow throughout, as with a shared core. Each run is judged by
the first rules and by the second (`statistics.rules`), including looks and the A/A pair. The target
is 1.5x: true ratios below it must not be met, and those above it not missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.verdict import noise, verdicts
from benchmarks.verdict.controls import same_code
from kernels.output import exit_when_stdout_closes

SEED = 20261121
TARGET = 1.5
RATIOS = (1.0, 1.45, 1.7)
_RULES = {"": {"rules": 1}, ", rules 2": {"rules": 2, "aa_width": 1.0}}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The chances per round that a burst begins and ends, and the share of time it adds.

    `unlucky` is the chance that a process is slow, by a uniform share up to 1.
    """

    name: str
    begins: float
    ends: float = 0.3
    adds: float = 0.7
    tail: float = 1.0
    unlucky: float = 0.0


MACHINES = (
    Machine(name="quiet", begins=0.0),
    Machine(name="now and then busy", begins=0.1),
    Machine(name="mostly busy", begins=0.5),
    Machine(name="now and then busy, some processes slow", begins=0.1, unlucky=0.3),
)
# (replicates, rounds, A/A rounds): those of the exploit tests, and of the preset `cpu`.
PROTOCOLS = ((1, 3, 0), (4, 6, 4))


class Runs:
    """Runs on one machine; the same seed gives the same runs."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self._machine = machine
        self._random = np.random.RandomState(seed)

    def rounds(self, count: int, ratio: float) -> list[dict[str, Any]]:
        """`count` pairs of rounds of a fresh pair of processes at a true `ratio`."""
        random, machine = self._random, self._machine
        share = machine.begins / (machine.begins + machine.ends)
        busy = random.rand() < share
        paces = 1 + (random.rand(2) < machine.unlucky) * random.rand(2)
        pairs = []
        for _ in range(count):
            times = [0.0, 0.0]
            for side in random.permutation(2):
                busy = random.rand() >= machine.ends if busy else random.rand() < machine.begins
                times[side] = 100 * paces[side] * (1 + 0.01 * abs(random.randn()))
                if busy:
                    times[side] *= 1 + machine.adds * float(np.exp(machine.tail * random.randn()))
            pairs.append({"baseline_us": ratio * times[0], "candidate_us": times[1]})
        return pairs

    def record(self, protocol: tuple[int, int, int], ratio: float) -> dict[str, Any]:
        """The parts of a record that a verdict needs."""
        replicates, rounds, aa_rounds = protocol
        sealed = {
            "replicates": replicates,
            "max_replicates": replicates,
            "look_every": 1,
            "clock_band": 0.15,
            "aa_rounds": aa_rounds,
            "noise_band": 0.1,
        }
        pair = {"name": "w", "rounds": self.rounds(aa_rounds, 1.0)} if aa_rounds else None
        return {
            "benchmark": {
                "target": TARGET,
                "confidence": 0.95,
                "workloads": [{"name": "w", "weight": 1.0}],
                "protocol": sealed,
            },
            "replicates": [
                {"workloads": [{"name": "w", "telemetry": None, "rounds": one}]}
                for one in (self.rounds(rounds, ratio) for _ in range(replicates))
            ],
            "observations": {"same_code": pair},
        }


def judged(record: dict[str, Any]) -> str:
    """The verdict that `verdicts` would give a whole record."""
    if same_code.judge(record).passed is False:
        return "invalid"
    look = verdicts.look(record, len(record["replicates"]))
    doubt = noise.noisy_same_code(record, look.estimates.overall.ratio)
    return look.verdict if doubt is None else "inconclusive"


def shares(
    machine: Machine, protocol: tuple[int, int, int], ratio: float, *, runs: int, seed: int = SEED
) -> dict[str, float]:
    """Shares of runs met and missed, by the first rules and by the second."""
    drawn = Runs(machine, seed)
    counts = dict.fromkeys(("met", "missed", "met, rules 2", "missed, rules 2"), 0)
    for _ in range(runs):
        record = drawn.record(protocol, ratio)
        for suffix, rules in _RULES.items():
            record["benchmark"]["protocol"] |= rules
            word = judged(record) + suffix
            if word in counts:
                counts[word] += 1
    return {word: count / runs for word, count in counts.items()}


def rows(runs: int) -> Iterator[str]:
    """The lines of the table."""
    yield "| machine | run | true | met | missed | met, rules 2 | missed, rules 2 |"
    yield "|---|---|---|---|---|---|---|"
    for replicates, rounds, aa_rounds in PROTOCOLS:
        for machine in MACHINES:
            for ratio in RATIOS:
                found = shares(machine, (replicates, rounds, aa_rounds), ratio, runs=runs)
                cells = " | ".join(f"{share:.1%}" for share in found.values())
                yield f"| {machine.name} | {replicates} x {rounds} | {ratio:.2f} | {cells} |"


if __name__ == "__main__":
    with exit_when_stdout_closes():
        for line in rows(1000):
            print(line, flush=True)
