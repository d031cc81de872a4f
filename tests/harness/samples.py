"""Records made of chosen samples, without measuring anything."""

from __future__ import annotations

from typing import Any

from benchmarks.records import observations
from benchmarks.records.canonical import digest, digest_of_bytes
from benchmarks.verdict import consistency
from tests.harness.softmax import Document, softmax_benchmark

SOURCE = "def run(prepared, inputs, out): ...\n"
_CHECKS = {
    "calls_checked": 40,
    "calls_probed": 40,
    "max_abs_error": 1e-8,
    "max_rel_error": 1e-5,
    "matched_share": 1.0,
    "repeats_checked": 9,
    "repeats_identical": 9,
}


def workload_entry(
    name: str, rounds: list[tuple[float, float]], *, calls: int = 10
) -> dict[str, Any]:
    """One workload's samples: (baseline_us, candidate_us) of each round."""
    return {
        "name": name,
        "calls": calls,
        "overhead_us": 100.0,
        "working_set_bytes": 1 << 20,
        "rounds": [{"first": "baseline", "baseline_us": b, "candidate_us": c} for b, c in rounds],
        "telemetry": None,
        "checks": dict(_CHECKS),
    }


def trial_entry(name: str) -> dict[str, Any]:
    """One trial that the candidate stood."""
    return {
        "name": name,
        "kind": "held_back",
        "level": "operator",
        "axes": {"rows": 5},
        "outcome": "right",
        "message": None,
        "checks": {key: value for key, value in _CHECKS.items() if key != "calls_probed"},
    }


def replicate_entry(*workloads: dict[str, Any]) -> dict[str, Any]:
    """One replicate of these workloads."""
    setup = {"elapsed_s": 0.1, "memory_bytes": None}
    return {
        "order": ["candidate", "baseline"],
        "setup": {"baseline": dict(setup), "candidate": dict(setup)},
        "workloads": list(workloads),
    }


def made_record(
    replicates: list[dict[str, Any]],
    *,
    document: Document | None = None,
    findings: list[dict[str, Any]] | None = None,
    device: dict[str, Any] | None = None,
    ceilings: dict[str, Any] | None = None,
    seen: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A sealed record of chosen replicates; `seen` are observations."""
    benchmark = document or softmax_benchmark()
    chosen = device or {"kind": "cpu", "name": "A processor", "memory_bytes": 1 << 30}
    chosen = {"cache_bytes": None, **chosen}
    return consistency.seal(
        {
            "schema": "twofold.record/1",
            "benchmark": benchmark,
            "benchmark_digest": digest(benchmark),
            "candidate": {
                "name": "made",
                "filename": "made.py",
                "source_digest": digest_of_bytes(SOURCE.encode()),
                "source": SOURCE,
            },
            "environment": {
                "device": chosen,
                "ceilings": ceilings,
                "python": "3.11.7",
                "platform": "linux x86_64",
                "cpu": "A processor",
                "cores": 2,
                "torch": "2.13.0",
                "triton": None,
                "cuda": None,
                "driver": None,
                "packages": {"torch": "2.13.0"},
                "isolation": {"separate_processes": True},
            },
            "command": "python -m benchmarks.harness run b.json made.py --out r.json",
            "started_at": "2026-11-21T09:00:00+00:00",
            "finished_at": "2026-11-21T09:01:00+00:00",
            "elapsed_s": 60.0,
            "replicates": replicates,
            "correctness": {"trials": [trial_entry(f"rows {rows}") for rows in (1, 5, 9)]},
            "observations": {**observations.nothing("there is no GPU in this run"), **(seen or {})},
            "findings": findings or [],
        }
    )


def twice_as_fast() -> dict[str, Any]:
    """A sound record, met: 2x and a little noise against a target of 1.5."""
    rounds = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]
    return made_record([replicate_entry(workload_entry("wide", rounds))])
