"""Records as the referee writes them, from times drawn with a fixed seed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from kernels import catalogue

Record = dict[str, Any]


def record(
    *,
    speedup: float = 2.34,
    operator: str = "shared_prefix_attention",
    preset: str = "cpu",
    replicates: int = 4,
    rounds: int = 14,
    noise: float = 0.02,
    names: list[str] | None = None,
    with_operator: bool = True,
    verdict: str | None = None,
    device: dict[str, Any] | None = None,
) -> Record:
    """A complete record whose raw samples scatter around `speedup`."""
    draw = np.random.default_rng(7)
    benchmark = json.loads(json.dumps(catalogue.benchmark_document(operator, preset)))
    for workload, name in zip(benchmark["workloads"], names or [], strict=False):
        workload["name"] = name
    content: Record = {
        "schema": "twofold.record/1",
        "benchmark": benchmark,
        "benchmark_digest": _digest(benchmark),
        "candidate": _candidate(),
        "environment": _environment(device),
        "command": "python -m benchmarks.harness run benchmark.json candidate.py --out record.json",
        "started_at": "2026-10-22T09:14:03Z",
        "finished_at": "2026-10-22T09:15:01Z",
        "elapsed_s": 58.2,
        "replicates": [
            _replicate(draw, benchmark, speedup, rounds, noise) for _ in range(replicates)
        ],
        "operator": _operator(benchmark, speedup) if with_operator else None,
        "findings": [],
    }
    content["summary"] = summary(content, verdict)
    content["digest"] = _digest(content)
    return content


def disqualified() -> Record:
    """A candidate that was caught: it never got as far as a ratio."""
    content = record()
    content["replicates"] = content["replicates"][:1]
    content["findings"] = [
        {
            "kind": "probe",
            "side": "candidate",
            "replicate": 1,
            "workload": content["benchmark"]["workloads"][0]["name"],
            "message": "answered before its kernels had finished: 3 of 256 probed positions "
            "still held poison when the clock stopped",
        }
    ]
    content["operator"] = None
    content["summary"] |= {
        "verdict": "disqualified",
        "reasons": ["The candidate answered before it had finished (probe, replicate 1)."],
        "ratio": None,
        "low": None,
        "high": None,
        "workloads": [
            {
                "name": workload["name"],
                "weight": workload["weight"],
                "baseline_us": None,
                "candidate_us": None,
                "ratio": None,
                "low": None,
                "high": None,
            }
            for workload in content["benchmark"]["workloads"]
        ],
    }
    content.pop("digest")
    content["digest"] = _digest(content)
    return content


def _replicate(
    draw: np.random.Generator, benchmark: Record, speedup: float, rounds: int, noise: float
) -> Record:
    between = 1 + draw.normal(0, noise / 2)
    workloads = []
    for index, workload in enumerate(benchmark["workloads"]):
        base_us = 41_300.0 / (index + 1) ** 1.4
        ratio = speedup * between * (1 + 0.12 * (1 - index))
        workloads.append(
            {
                "name": workload["name"],
                "calls": 8 * (index + 1),
                "rounds": [
                    {
                        "first": "baseline" if draw.random() < 0.5 else "candidate",
                        "baseline_us": base_us * (1 + draw.normal(0, noise)),
                        "candidate_us": base_us / ratio * (1 + draw.normal(0, noise)),
                        "overhead_us": 44.0,
                    }
                    for _ in range(rounds)
                ],
                "checks": {
                    "calls_checked": 2 * rounds,
                    "calls_probed": 8 * (index + 1) * rounds,
                    "max_abs_error": 3.1e-6,
                    "max_rel_error": 1.9e-5,
                    "matched_share": 1.0,
                },
            }
        )
    setup = {"elapsed_s": 0.41, "memory_bytes": None}
    return {
        "order": ["candidate", "baseline"],
        "setup": {"baseline": setup, "candidate": setup},
        "workloads": workloads,
    }


def summary(content: Record, verdict: str | None = None) -> Record:
    """The summary in its shape; intervals are plain percentiles, enough for a picture."""
    benchmark = content["benchmark"]
    parts, baseline_total, candidate_total = [], 0.0, 0.0
    for index, workload in enumerate(benchmark["workloads"]):
        pairs = [
            each for one in content["replicates"] for each in one["workloads"][index]["rounds"]
        ]
        baseline_us = float(np.mean([pair["baseline_us"] for pair in pairs]))
        candidate_us = float(np.mean([pair["candidate_us"] for pair in pairs]))
        ratio = baseline_us / candidate_us
        parts.append(
            {
                "name": workload["name"],
                "weight": workload["weight"],
                "baseline_us": baseline_us,
                "candidate_us": candidate_us,
                "ratio": ratio,
                "low": ratio * 0.975,
                "high": ratio * 1.022,
            }
        )
        baseline_total += workload["weight"] * baseline_us
        candidate_total += workload["weight"] * candidate_us
    ratio = baseline_total / candidate_total
    low, high, target = ratio * 0.978, ratio * 1.021, benchmark["target"]
    computed = "met" if low >= target else "missed" if high < target else "inconclusive"
    return {
        "verdict": verdict or computed,
        "reasons": [],
        "ratio": ratio,
        "low": low,
        "high": high,
        "target": target,
        "confidence": benchmark["confidence"],
        "workloads": parts,
        "replicates": len(content["replicates"]),
        "rounds": sum(
            len(each["rounds"]) for one in content["replicates"] for each in one["workloads"]
        ),
        "calls_checked": 224,
        "detection": "wrong on 10% of calls is caught with 99.9%",
    }


def _candidate() -> Record:
    source = "def prepare(state, axes):\n    return state\n"
    return {
        "name": "shared_prefix_attention/torch_cascade",
        "source_digest": "sha256:" + hashlib.sha256(source.encode()).hexdigest(),
        "source": source,
    }


def _environment(device: dict[str, Any] | None) -> Record:
    return {
        "device": device
        or {"kind": "cpu", "name": "Intel Xeon Platinum 8481C", "memory_bytes": None},
        "python": "3.11.11",
        "platform": "Linux-6.8.0-1021-x86_64-with-glibc2.36",
        "cpu": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
        "cores": 2,
        "torch": "2.13.0",
        "triton": None,
        "cuda": None,
        "driver": None,
        "packages": {"torch": "2.13.0", "numpy": "2.4.1", "rfc8785": "0.1.4"},
    }


def _operator(benchmark: Record, speedup: float) -> Record:
    return {
        "workloads": [
            {
                "name": workload["name"],
                "baseline_us": 30_100.0 / (index + 1),
                "candidate_us": 30_100.0 / (index + 1) / (speedup * 1.6),
                "ratio": speedup * 1.6,
                "flops": 4.4e9 / (index + 1),
                "bytes": 1.3e8 / (index + 1) ** 0.5,
            }
            for index, workload in enumerate(benchmark["workloads"])
        ]
    }


def _digest(content: Record) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
