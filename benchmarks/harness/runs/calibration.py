"""Calibrate a benchmark: measure the baseline's time before sealing.

Pairs of fresh processes run the baseline on both sides. The band covers the spread between its
processes, and at least the drift of a machine from day to day. What is stored is what the control
`baseline_band` compares: the mean over processes of their median rounds.
"""

import statistics
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch

from benchmarks.harness.failures import SetupError
from benchmarks.harness.rounds.plans import RoundPlan
from benchmarks.harness.runs import environment, replicates
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.preparation import prepare
from benchmarks.harness.runs.replicates import Unit
from benchmarks.harness.sides import folders, isolation, operators, user_ids
from benchmarks.records import documents
from benchmarks.records.documents import WIDEST_BAND
from benchmarks.verdict.statistics.estimates import process_us
from benchmarks.verdict.statistics.exclusions import times_us

PAIRS = 3
_LEAST_BAND = {"cuda": 0.05, "cpu": 0.2}
# Standard deviations of a process's mean: a sound baseline fails once in thousands of runs.
_DEVIATIONS = 4
_NOBODY = Candidate(name="nobody", filename="nobody.py", source="")


@torch.no_grad()
def calibrate(
    document: dict[str, Any],
    *,
    pairs: int = PAIRS,
    captured: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """The document with its `calibration` measured, and the baseline's version pinned.

    Raises SetupError, SideFailed or DeviceFailed as a run does, and Caught for a baseline with
    wrong results.
    """
    isolation.hide_referee()
    times: dict[str, list[float]] = {}
    with (
        operators.unpacked(document),
        user_ids.reserved() as first_user,
        folders.temporary() as folder,
        ExitStack() as stack,
    ):
        operators.check_sealed(document)
        device_kind = document["hardware"]["device"]
        setting = prepare(
            document, _NOBODY, device_kind, folder, first_user, stack=stack, captured=captured
        )
        plan = RoundPlan(rounds=setting.protocol["rounds"])
        units = [Unit(workload=each, plan=plan) for each in document["workloads"]]
        for index in range(pairs):
            for entry in replicates.same_code(setting, index, units):
                for side in times_us(entry["rounds"]):
                    times.setdefault(entry["name"], []).append(process_us(side))
        kind, name = setting.device.kind, setting.device.name()
    band = max(_LEAST_BAND[kind], _DEVIATIONS * _spread(times))
    if band > WIDEST_BAND:
        raise SetupError(
            f"the baseline's processes differ too much to calibrate: a band of {band:.0%}"
        )
    found = {
        **document,
        "baseline": _pinned(document["baseline"]),
        "calibration": {
            "baseline_us": {name: statistics.fmean(each) for name, each in times.items()},
            "band": round(band, 4),
            "device": name,
        },
    }
    documents.check(found)
    return found


def _pinned(baseline: dict[str, Any]) -> dict[str, Any]:
    """The baseline with its package's version here, if the package is installed."""
    version = environment.packages().get(baseline["package"].lower())
    return baseline if version is None else {**baseline, "version": version}


def _spread(times: dict[str, list[float]]) -> float:
    """The largest relative standard deviation of any workload's process times."""
    return max(statistics.stdev(each) / statistics.fmean(each) for each in times.values())
