"""The benchmark of the tests' own operator, and where operators and exploits lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.sides import operators
from benchmarks.records import benchmark_folders
from kernels import catalogue

OPERATORS = Path(__file__).parent / "operators"
FOLDERS = Path(__file__).parent / "folders"
EXPLOITS = Path(__file__).parents[1] / "exploits"

Document = dict[str, Any]
Measure = Callable[..., dict[str, Any]]


def softmax_benchmark(
    *, baseline: str = "plain", device: str = "cpu", launch: str = "eager", **protocol: Any
) -> Document:
    """A benchmark of the tests' own operator: one replicate of three short rounds."""
    definition = operators.part("row_softmax", "op").DEFINITION
    # Through JSON, as a document comes: tuples are lists there.
    plain = json.loads(json.dumps(definition.as_data()))
    # On the processor small enough for torch to use one thread: a team of threads on a busy
    # machine waits for whichever of them is not running.
    rows = 8 if device == "cpu" else 8192
    return {
        "schema": "twofold.benchmark/1",
        "name": "row_softmax/test",
        "operator": "row_softmax",
        "dtype": "float32",
        "definition": plain,
        "program": {"name": "softmax alone", "launch": launch},
        "sources": operators.source_digests(
            "row_softmax", ["program.py", "reference.py", "baselines.py"]
        ),
        "workloads": [{"name": "wide", "axes": {"rows": rows, "columns": 4096}, "weight": 1.0}],
        "tolerance": dict(plain["tolerances"]["float32"]),
        "baseline": {"name": baseline, "package": "torch", "title": "softmax"},
        "hardware": {"device": device, "name": None},
        "calibration": None,
        "target": 1.5,
        "confidence": 0.95,
        "protocol": {
            "replicates": 1,
            "max_replicates": 1,
            "rounds": 3,
            "warmup_rounds": 1,
            "round_ms": 5.0,
            "max_calls": 64,
            "checked_calls": 4,
            "setup_limit_s": 60.0,
            "round_limit_s": 20.0,
            "held_back_shapes": 3,
            "look_every": 2,
            "warmup_ms": 0.0,
            "aa_rounds": 0,
            "operator_rounds": 0,
            "clock_band": 0.15,
            "max_discarded": 0.25,
            "noise_band": 0.1,
            "aa_width": 1.0,
            "rules": 4,
            **protocol,
        },
    }


def softmax_of_a_customer(**protocol: Any) -> Document:
    """The same benchmark made from a customer's folder: with files, and a confined reference."""
    made = benchmark_folders.document(benchmark_folders.read(FOLDERS / "own_softmax"))
    return {**made, "protocol": softmax_benchmark(**protocol)["protocol"]}


def lookup_benchmark(*, device: str = "cpu", **protocol: Any) -> Document:
    """A benchmark whose operator is a small part of its step, under the protocol of the other."""
    plain = json.loads(json.dumps(operators.part("projected_lookup", "op").DEFINITION.as_data()))
    size = {"tokens": 64, "vocabulary": 512, "hidden": 1024}
    if device == "cuda":
        size = {"tokens": 4096, "vocabulary": 4096, "hidden": 4096}
    return {
        **softmax_benchmark(device=device, **protocol),
        "name": "projected_lookup/test",
        "operator": "projected_lookup",
        "definition": plain,
        "program": {"name": "lookup and projection", "launch": "eager"},
        "sources": operators.source_digests(
            "projected_lookup", ["program.py", "reference.py", "baselines.py"]
        ),
        "workloads": [{"name": "wide", "axes": size, "weight": 1.0}],
        "tolerance": dict(plain["tolerances"]["float32"]),
        "baseline": {"name": "index_select", "package": "torch", "title": "torch.index_select"},
    }


def ranks_benchmark(*, device: str = "cpu", **protocol: Any) -> Document:
    """A benchmark of two ranks a side, under the protocol of the others."""
    made = catalogue.benchmark_document("allreduce_residual_norm", "tiny")
    short = softmax_benchmark(device=device, **protocol)
    return {**made, **{name: short[name] for name in ("target", "protocol", "hardware")}}
