"""The tables of the benchmark report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engagements.common import ratios
from engagements.runs import operator_account

Data = Mapping[str, Any]
NOT_MEASURED = "not measured"


def workloads(summary: Data) -> list[dict[str, str]]:
    """Return a row per workload: times in µs per call, ratio and interval."""
    return [
        {
            "name": each["name"],
            "weight": f"{each['weight']:.0%}",
            "baseline_us": _time_us(each["baseline_us"]),
            "candidate_us": _time_us(each["candidate_us"]),
            "ratio": ratios.measured(each["ratio"]),
            "interval": _interval(each["low"], each["high"]),
        }
        for each in summary["workloads"]
    ]


def correctness(record: Data) -> dict[str, Any]:
    """The checks by workload over all replicates, and the probability of catching an error."""
    rows = []
    for workload in record["benchmark"]["workloads"]:
        checks = [
            each["checks"]
            for replicate in record["replicates"]
            for each in replicate["workloads"]
            if each["name"] == workload["name"]
        ]
        rows.append(
            {
                "name": workload["name"],
                "probed": f"{sum(each['calls_probed'] for each in checks):,}",
                "checked": f"{sum(each['calls_checked'] for each in checks):,}",
                "max_abs": _worst(checks, "max_abs_error"),
                "max_rel": _worst(checks, "max_rel_error"),
                "matched": _least_share(checks),
            }
        )
    return {
        "rows": rows,
        "trials": _trials(record["correctness"]),
        "repeats": _repeats(record["replicates"]),
        "detection": record["summary"]["detection"] if record["summary"]["calls_checked"] else "",
        "tolerance": _tolerance(record["benchmark"]["tolerance"]),
    }


def _trials(correctness: Data | None) -> str | None:
    """Say which held-back sizes and special values were tested; None without any."""
    tried = (correctness or {}).get("trials") or []
    if not tried:
        return None
    right = [trial for trial in tried if trial["outcome"] == "right"]
    named = "; ".join(trial["name"] for trial in right)
    left_out = len(tried) - len(right)
    more = (
        f" {left_out} more were skipped, because the baseline fails them as well."
        if left_out
        else ""
    )
    return (
        f"Outside the timed rounds, the candidate was tested at {len(tried)} sizes and special "
        f"values beyond the contract's, and was correct at {len(right)}: {named}.{more}"
    )


def _repeats(replicates: list[Data]) -> str | None:
    """Say how outputs agreed over calls with the same input; None without repeats."""
    checks = [each["checks"] for replicate in replicates for each in replicate["workloads"]]
    repeated = sum(each["repeats_checked"] for each in checks)
    if not repeated:
        return None
    same = sum(each["repeats_identical"] for each in checks)
    how = "bit by bit" if same == repeated else f"bit by bit in {same:,}, within tolerance in all"
    return f"{repeated:,} calls repeated an input; their outputs agreed {how}."


def _tolerance(tolerance: Data) -> str:
    share = tolerance["matched_share"]
    scope = "every element" if share == 1 else f"at least {share:.4%} of the elements"
    return (
        f"{tolerance['max_abs']:g} absolute plus {tolerance['max_rel']:g} relative for {scope}, "
        f"and no element off by more than {tolerance['hard_cap_abs']:g}" + _rms(tolerance)
    )


def _rms(tolerance: Data) -> str:
    factor = tolerance.get("rms_factor")
    return "" if factor is None else f"; RMS error at most {factor:g} times the baseline's own"


def operator(record: Data) -> list[dict[str, str]]:
    """Return the operator alone by workload; empty when not measured."""
    return [
        {
            "name": each.name,
            "baseline_us": _time_us(each.baseline_us),
            "candidate_us": _time_us(each.candidate_us),
            "ratio": ratios.measured(each.ratio),
            "step_share": _share(each.step_share),
            "gflop_per_s": _rate(each.flops, each.candidate_us),
            "arithmetic_share": _share(each.arithmetic_share),
            "gb_per_s": _rate(each.bytes_moved, each.candidate_us),
            "bandwidth_share": _share(each.bandwidth_share),
        }
        for each in operator_account.alone(record)
    ]


def account(record: Data) -> list[str]:
    """Explain the step's ratio by the operator's, one sentence per workload."""
    return [each.sentence for each in operator_account.alone(record) if each.sentence]


def environment(record: Data) -> list[tuple[str, str]]:
    """Return hardware and software as pairs of label and value."""
    there = record["environment"]
    device = there["device"]
    memory = device["memory_bytes"]
    return [
        ("Device", device["name"]),
        ("Device memory", f"{memory / 2**30:.1f} GiB" if memory else NOT_MEASURED),
        ("Processor", f"{there['cpu']}, {there['cores']} cores"),
        ("Operating system", there["platform"]),
        ("Python", there["python"]),
        ("PyTorch", there["torch"]),
        ("Triton", there["triton"] or "not installed"),
        ("CUDA", there["cuda"] or "not used"),
        ("Driver", there["driver"] or "not used"),
        ("Installed packages", f"{len(there['packages'])}, each with its version in the record"),
    ]


def protections(record: Data) -> dict[str, list[str]]:
    """The isolation of the sides in this run: in force and absent."""
    listed = record["environment"]["isolation"].items()
    return {
        "in_force": [name.replace("_", " ") for name, held in listed if held],
        "absent": [name.replace("_", " ") for name, held in listed if not held],
    }


def digests(record: Data) -> list[tuple[str, str]]:
    """Return the digests of benchmark, sources and record."""
    return [
        ("Benchmark", record["benchmark_digest"]),
        ("Candidate's source", record["candidate"]["source_digest"]),
        *(
            (f"The operator's {name}", value)
            for name, value in record["benchmark"]["sources"].items()
        ),
        ("Record", record["digest"]),
    ]


def _time_us(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:,.1f}"


def _share(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.0%}"


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return NOT_MEASURED
    return f"{low:.2f}–{high:.2f}"


def _worst(checks: list[Data], key: str) -> str:
    values = [each[key] for each in checks if each[key] is not None]
    return f"{max(values):.1e}".replace("e-0", "e-") if values else NOT_MEASURED


def _least_share(checks: list[Data]) -> str:
    values = [each["matched_share"] for each in checks if each["matched_share"] is not None]
    return f"{min(values):.3%}" if values else NOT_MEASURED


def _rate(amount: float | None, took_us: float | None) -> str:
    if not amount or not took_us:
        return NOT_MEASURED
    return f"{amount / took_us / 1e3:,.1f}"
