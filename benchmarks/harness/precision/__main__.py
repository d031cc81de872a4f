"""Measure the referee's precision, whole or in parts, and print the tables.

    python -m benchmarks.harness.precision --shard 1/4 --out part1.json     on each of four GPUs
    python -m benchmarks.harness.precision --merge part*.json

A/A: the same work on both sides, at several sizes, with `do_bench` beside it. Power: a baseline
that does a known number of times the candidate's work, against a target of 2x.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import folders, operators
from benchmarks.harness.precision import tables

_CHANGEABLE = {"replicates": int, "rounds": int, "round_ms": float, "warmup_ms": float}


def main() -> None:
    """Measure and write a part, or merge parts; print the tables either way."""
    asked = parser().parse_args()
    if asked.merge:
        parts = [json.loads(path.read_text()) for path in asked.merge]
    else:
        # The referee's threads must sleep, not spin; torch reads this when it is imported.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        parts = [measured(asked)]
    print(tables.markdown(tables.rows(parts)))
    for part in parts:
        pairs_s = part["elapsed_s"] / part["pairs"]
        print(
            f"\n{part['device']}: one unit {part['unit_us']:.2f} us, {part['pairs']} pairs of "
            f"processes, {part['elapsed_s']:.0f} s, {pairs_s:.1f} s a pair; "
            + ", ".join(f"{name} {spent:.0f} s" for name, spent in part["phases_s"].items())
        )


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """This part's trials; written after each, so that one cut short is still good."""
    import torch

    from benchmarks.harness import candidates, isolation
    from benchmarks.harness.precision import conditions
    from benchmarks.harness.precision.bench import Bench
    from benchmarks.harness.preparation import prepared

    os.environ[operators.SEARCH_PATH_VARIABLE] = str(conditions.FOLDER)
    started = time.monotonic()
    isolation.hide_referee()
    changes = {name: getattr(asked, name) for name in _CHANGEABLE if getattr(asked, name)}
    document = conditions.document(asked.device, changes)
    candidate = candidates.read(str(conditions.CANDIDATE))
    with folders.temporary() as folder, torch.no_grad():
        setting = prepared(document, candidate, asked.device, folder)
        bench = Bench(setting)
        part: dict[str, Any] = {
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
                asked.out.write_text(json.dumps(part))
    return part


def trials_of(asked: argparse.Namespace) -> int:
    """How many of the trials are this part's."""
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
        prog="python -m benchmarks.harness.precision",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    made.add_argument("--trials", type=int, default=40, help="over all shards")
    made.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N")
    made.add_argument("--budget-s", type=float, default=480.0, help="start no trial beyond it")
    made.add_argument("--out", type=Path, help="where this part's trials are written")
    made.add_argument("--merge", type=Path, nargs="+", metavar="PART", help="measure nothing")
    for name, kind in _CHANGEABLE.items():
        made.add_argument(f"--{name.replace('_', '-')}", type=kind, help="of the protocol")
    return made


if __name__ == "__main__":
    main()
