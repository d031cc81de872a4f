"""Measure the referee's precision, whole or in parts, and print the tables.

    python -m benchmarks.precision --gpus 4 --out precision     everything, on four GPUs
    python -m benchmarks.precision --shard 1/4 --out part1.json     or part by part
    python -m benchmarks.precision --combine part*.json
    python -m benchmarks.precision --combine part*.json --max-replicates 7

A/A: the same work on both sides, in several sizes, and `do_bench` for comparison. Power: a baseline
with a known multiple of the candidate's work, against a target of 2x. The last command judges the
trials as first looks of runs with up to seven pairs.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import folders, operators
from benchmarks.precision import shards, tables
from benchmarks.records import signatures
from benchmarks.records.documents import InvalidBenchmark
from kernels.output import exit_when_stdout_closes

_REFUSED = (
    InvalidBenchmark,
    SetupError,
    shards.PartsDiffer,
    shards.PartUnreadable,
    signatures.KeyUnusable,
)
_CHANGEABLE = {"replicates": int, "rounds": int, "round_ms": float, "warmup_ms": float}


def main() -> int:
    """Measure and write a part, or combine parts; print the tables."""
    asked = parser().parse_args()
    if asked.gpus and asked.out is None:
        parser().error("--gpus needs --out, the folder of its parts")
    if asked.max_replicates is not None and not asked.combine:
        parser().error("--max-replicates judges trials that are measured: it needs --combine")
    try:
        # With more shards than trials, some shards are empty.
        parts = [part for part in _parts(asked) if part["trials"]]
    except _REFUSED as error:
        print(error, file=sys.stderr)
        return 2
    if not parts:
        print("no part was measured", file=sys.stderr)
        return 3
    print(tables.markdown(tables.rows(parts)))
    for part in parts:
        print(f"\n{_described(part)}")
    return 0


def _described(part: dict[str, Any]) -> str:
    """The trials of a part and the time they took."""
    index, count = part["shard"]
    trials = len(part["trials"]) // part["conditions"]
    return (
        f"Part {index} of {count} on {part['device']}: {trials} of {part['asked']} trials, "
        f"each of {part['pairs'] // trials} fresh pairs of processes; "
        f"one unit {part['unit_us']:.2f} us; {part['elapsed_s']:.0f} s, "
        f"{part['elapsed_s'] / part['pairs']:.1f} s a pair; "
        + ", ".join(f"{name} {spent:.0f} s" for name, spent in part["phases_s"].items())
        + f"; {part.get('signed', 'not signed')}"
    )


def _parts(asked: argparse.Namespace) -> list[dict[str, Any]]:
    if asked.combine:
        return shards.judged_early(shards.combined(asked.combine), asked.max_replicates)
    if asked.gpus:
        options = [f"--trials={asked.trials}", f"--budget-s={asked.budget_s}"]
        changed = {name: getattr(asked, name) for name in _CHANGEABLE if getattr(asked, name)}
        options += [f"--{name.replace('_', '-')}={value}" for name, value in changed.items()]
        return shards.combined(shards.on_every_gpu(asked.gpus, asked.out, options))
    # The referee's threads must not spin; torch reads this at import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    part = measured(asked)
    return [part] if asked.out is None or not part["trials"] else shards.combined([asked.out])


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Measure this part's trials; written after each, so that an interrupted part is valid."""
    import torch

    from benchmarks.harness.runs import candidates
    from benchmarks.harness.runs.preparation import prepare
    from benchmarks.harness.sides import isolation, user_ids
    from benchmarks.precision import conditions
    from benchmarks.precision.bench import Bench

    os.environ[operators.SEARCH_PATH_VARIABLE] = str(conditions.FOLDER)
    started = time.monotonic()
    isolation.hide_referee()
    key = signatures.take_key(os.environ)
    changes = {name: getattr(asked, name) for name in _CHANGEABLE if getattr(asked, name)}
    document = conditions.document(asked.device, changes)
    candidate = candidates.read(str(conditions.CANDIDATE))
    with user_ids.reserved() as first_user, folders.temporary() as folder, torch.no_grad():
        setting = prepare(document, candidate, asked.device, folder, first_user)
        bench = Bench(setting)
        part: dict[str, Any] = {
            "id": secrets.token_hex(8),
            "shard": list(asked.shard),
            "asked": trials_of(asked),
            "conditions": len(bench.conditions),
            "benchmark": document,
            "workload": conditions.workload(bench.conditions[0]),
            "device": setting.device.name(),
            "unit_us": bench.unit_us,
            "trials": [],
        }
        for done in range(trials_of(asked)):
            spent_s = time.monotonic() - started
            if done and spent_s * (done + 1) / done > asked.budget_s:
                break
            part["trials"] += bench.trial()
            part["pairs"] = (done + 1) * setting.protocol["replicates"]
            part["elapsed_s"] = time.monotonic() - started
            part["phases_s"] = setting.phases.seconds()
            if asked.out is not None:
                shards.write(part, asked.out, key)
    return part


def trials_of(asked: argparse.Namespace) -> int:
    """The number of this part's trials."""
    index, parts = asked.shard
    return len(range(index - 1, asked.trials, parts))


def _shard(text: str) -> tuple[int, int]:
    index, _, parts = text.partition("/")
    found = int(index), int(parts)
    if not 1 <= found[0] <= found[1]:
        raise argparse.ArgumentTypeError(
            f"{text}: a shard is 1/{found[1]} to {found[1]}/{found[1]}"
        )
    return found


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.precision",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    made.add_argument("--trials", type=int, default=40, help="over all shards")
    made.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N")
    made.add_argument("--budget-s", type=float, default=480.0, help="start no trial beyond it")
    made.add_argument("--gpus", type=int, help="one part on each of so many GPUs; --out a folder")
    made.add_argument("--out", type=Path, help="where this part's trials are written")
    made.add_argument("--combine", type=Path, nargs="+", metavar="PART", help="measure nothing")
    made.add_argument("--max-replicates", type=int, help="of the runs whose first look is judged")
    for name, kind in _CHANGEABLE.items():
        made.add_argument(f"--{name.replace('_', '-')}", type=kind, help="of the protocol")
    return made


if __name__ == "__main__":
    with exit_when_stdout_closes():
        sys.exit(main())
