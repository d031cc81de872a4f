"""Records as the referee seals them, over times drawn with a fixed seed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks.records import observations
from benchmarks.records.canonical import digest, digest_of_bytes
from benchmarks.verdict import consistency
from kernels import catalogue

Record = dict[str, Any]
SOURCE = """def prepare(state, axes):
    return state


def run(prepared, inputs, out):
    pass
"""
CPU = {"kind": "cpu", "name": "Intel Xeon Platinum 8481C", "memory_bytes": 8_000_000_000}
H200 = {"kind": "cuda", "name": "NVIDIA H200", "memory_bytes": 150_754_820_096}


def benchmark(
    operator: str = "shared_prefix_attention",
    preset: str = "cpu",
    names: list[str] | None = None,
) -> Record:
    """A benchmark of the catalogue with two workloads or more; `names` renames them in turn."""
    document: Record = json.loads(json.dumps(catalogue.benchmark_document(operator, preset)))
    if len(document["workloads"]) == 1:
        (first,) = document["workloads"]
        half = {**first["axes"], "batch": first["axes"]["batch"] // 2}
        first["weight"] = 0.7
        document["workloads"].append({"name": "half", "axes": half, "weight": 0.3})
    for workload, name in zip(document["workloads"], names or [], strict=False):
        workload["name"] = name
    return document


def record(
    *,
    speedup: float = 2.34,
    document: Record | None = None,
    noise: float = 0.02,
    with_operator: bool = True,
    device: Record | None = None,
    source: str = SOURCE,
    findings: list[Record] | None = None,
    ceilings: Record | None = None,
) -> Record:
    """A sealed record whose raw samples scatter around `speedup`."""
    document = document or benchmark()
    device = device or (CPU if document["hardware"]["device"] == "cpu" else H200)
    draw = np.random.default_rng(7)
    replicates = [
        _replicate(draw, document, speedup, noise)
        for _ in range(document["protocol"]["replicates"])
    ]
    return consistency.seal(
        {
            "schema": "twofold.record/1",
            "benchmark": document,
            "benchmark_digest": digest(document),
            "candidate": {
                "name": f"{document['operator']}/torch_cascade",
                "filename": "torch_cascade.py",
                "source_digest": digest_of_bytes(source.encode()),
                "source": source,
            },
            "environment": {**_environment(device), "ceilings": ceilings},
            "command": "python -m benchmarks.harness run benchmark.json candidate.py "
            "--out record.json",
            "started_at": "2026-10-22T09:14:03Z",
            "finished_at": "2026-10-22T09:15:01Z",
            "elapsed_s": 58.2,
            "replicates": replicates,
            "correctness": _correctness(document),
            "observations": {
                **observations.nothing("there is no GPU in this run"),
                "same_code": _same_code(draw, document, noise),
                **(_alone(document, speedup, device) if with_operator else {}),
            },
            "findings": findings or [],
        }
    )


def disqualified() -> Record:
    """A candidate that was caught: no ratio is believed."""
    document = benchmark()
    return record(
        document=document,
        with_operator=False,
        findings=[
            {
                "kind": "probe",
                "side": "candidate",
                "replicate": 1,
                "workload": document["workloads"][0]["name"],
                "message": "answered before its kernels had finished: 3 of 256 probed positions "
                "still held poison when the clock stopped",
            }
        ],
    )


def _replicate(draw: np.random.Generator, document: Record, speedup: float, noise: float) -> Record:
    between = 1 + draw.normal(0, noise / 2)
    protocol = document["protocol"]
    workloads = []
    for index, workload in enumerate(document["workloads"]):
        base_us = 41_300.0 / (index + 1) ** 1.4
        ratio = speedup * between * (1 + 0.06 * (1 - index))
        calls = 8 * (index + 1)
        workloads.append(
            {
                "name": workload["name"],
                "calls": calls,
                "overhead_us": 44.0,
                "working_set_bytes": 96_000_000,
                "rounds": [
                    {
                        "first": "baseline" if draw.random() < 0.5 else "candidate",
                        "baseline_us": base_us * (1 + draw.normal(0, noise)),
                        "candidate_us": base_us / ratio * (1 + draw.normal(0, noise)),
                    }
                    for _ in range(protocol["rounds"])
                ],
                "telemetry": None,
                "checks": {
                    "calls_checked": 2 * protocol["checked_calls"] * protocol["rounds"],
                    "calls_probed": 2 * calls * protocol["rounds"],
                    "max_abs_error": 3.1e-6,
                    "max_rel_error": 1.9e-5,
                    "matched_share": 1.0,
                    "repeats_checked": calls - 1,
                    "repeats_identical": calls - 1,
                },
            }
        )
    setup = {"elapsed_s": 0.41, "memory_bytes": None}
    return {
        "order": ["candidate", "baseline"],
        "setup": {"baseline": setup, "candidate": setup},
        "workloads": workloads,
    }


def _same_code(draw: np.random.Generator, document: Record, noise: float) -> Record | None:
    """The baseline beside itself, in as many rounds as the benchmark asks for."""
    count = document["protocol"]["aa_rounds"]
    if not count:
        return None
    rounds = [
        {
            "first": "baseline" if index % 2 else "candidate",
            "baseline_us": 41_300.0 * (1 + draw.normal(0, noise)),
            "candidate_us": 41_300.0 * (1 + draw.normal(0, noise)),
        }
        for index in range(count)
    ]
    name = document["workloads"][0]["name"]
    return {"name": name, "calls": 8, "overhead_us": 44.0, "rounds": rounds}


def _correctness(document: Record) -> Record:
    asked = document["protocol"]["held_back_shapes"]
    checks = {
        "calls_checked": 3,
        "max_abs_error": 2.4e-6,
        "max_rel_error": 1.1e-5,
        "matched_share": 1.0,
        "repeats_checked": 1,
        "repeats_identical": 1,
    }
    kinds = [("held_back", f"batch {3 + 2 * index}") for index in range(asked)]
    return {
        "trials": [
            {
                "name": name,
                "kind": kind,
                "level": "operator",
                "axes": document["workloads"][0]["axes"],
                "outcome": "right",
                "message": None,
                "checks": checks,
            }
            for kind, name in [*kinds, ("special", "large scores at batch 5")]
        ]
    }


def _environment(device: Record) -> Record:
    is_cuda = device["kind"] == "cuda"
    return {
        "device": {"cache_bytes": None, **device},
        "ceilings": None,
        "python": "3.11.11",
        "platform": "Linux-6.8.0-1021-x86_64-with-glibc2.36",
        "cpu": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
        "cores": 2,
        "torch": "2.13.0",
        "triton": "3.7.0" if is_cuda else None,
        "cuda": "13.0" if is_cuda else None,
        "driver": "580.65.06" if is_cuda else None,
        "packages": {"torch": "2.13.0", "numpy": "2.4.1", "rfc8785": "0.1.4"},
        "isolation": {
            "separate_processes": True,
            "emptied_environment": True,
            "dies_with_referee": True,
            "unprivileged_user": False,
            "no_network": False,
        },
    }


def _alone(document: Record, speedup: float, device: Record) -> Record:
    """Observations of the operator by itself, each round alike."""
    faster = 400 if device["kind"] == "cuda" else 1
    pairs, costs = [], []
    for index, workload in enumerate(document["workloads"]):
        # On a GPU nearly all of the step, so that its gain explains the step's.
        step_us = 41_300.0 / (index + 1) ** 1.4
        baseline_us = 0.98 * step_us / faster if faster > 1 else 30_100.0 / (index + 1)
        times = {"baseline_us": baseline_us, "candidate_us": baseline_us / (speedup * 1.6)}
        pairs.append(
            {
                "name": workload["name"],
                "calls": 4,
                "overhead_us": 44.0,
                "rounds": [{"first": side, **times} for side in ("baseline", "candidate")],
            }
        )
        costs.append(
            {
                "name": workload["name"],
                "operator_calls": faster,
                "flops": 4.4e9 / (index + 1),
                "bytes": 1.3e8 / (index + 1) ** 0.5,
            }
        )
    return {"operator": pairs, "costs": costs}
