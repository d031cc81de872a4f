"""Check that a record contains everything its benchmark asks for."""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict.statistics import interim


def unusable(record: Mapping[str, Any]) -> list[str]:
    """The reasons why the record allows no estimate; empty when it does."""
    reasons = [finding["message"] for finding in record["findings"]]
    reasons += _wrong_device(record) + _wrong_version(record)
    protocol = record["benchmark"]["protocol"]
    replicates = record["replicates"]
    count, scheduled = len(replicates), interim.schedule(protocol)
    if not reasons and count not in scheduled:
        asked = " or ".join(str(each) for each in scheduled)
        reasons.append(f"{count} replicates, and the benchmark asks for {asked}")
    if not reasons:
        reasons += _untried(record)
        reasons += [
            problem for replicate in replicates for problem in _incomplete(record, replicate)
        ]
    return list(dict.fromkeys(reasons))


def _untried(record: Mapping[str, Any]) -> list[str]:
    asked = record["benchmark"]["protocol"]["held_back_shapes"]
    correctness = record["correctness"] or {"trials": []}
    tried = sum(trial["kind"] == "held_back" for trial in correctness["trials"])
    if tried < asked:
        return [f"{tried} held-back sizes were tried, and the benchmark asks for {asked}"]
    return []


def _wrong_device(record: Mapping[str, Any]) -> list[str]:
    sealed = record["benchmark"]["hardware"]
    here = record["environment"]["device"]
    if here["kind"] != sealed["device"]:
        return [f"measured on {here['kind']}, and the benchmark names {sealed['device']}"]
    if sealed["name"] is not None and here["name"] != sealed["name"]:
        return [f"measured on {here['name']}, and the benchmark names {sealed['name']}"]
    return []


def _wrong_version(record: Mapping[str, Any]) -> list[str]:
    """An older release of the same package may be a slower baseline."""
    sealed = record["benchmark"]["baseline"]
    package, version = sealed["package"], sealed.get("version")
    here = record["environment"]["packages"].get(package.lower())
    if version is None or here == version:
        return []
    found = f"{package} {here}" if here else f"no {package}"
    return [f"measured with {found}, and the benchmark names {package} {version}"]


def _incomplete(record: Mapping[str, Any], replicate: Mapping[str, Any]) -> list[str]:
    benchmark = record["benchmark"]
    protocol = benchmark["protocol"]
    names = [workload["name"] for workload in replicate["workloads"]]
    if names != [workload["name"] for workload in benchmark["workloads"]]:
        return ["a replicate does not hold exactly the benchmark's workloads"]
    reasons = []
    for workload in replicate["workloads"]:
        rounds, name = workload["rounds"], workload["name"]
        if len(rounds) != protocol["rounds"]:
            reasons.append(
                f"workload {name}: {len(rounds)} rounds, and the benchmark asks for "
                f"{protocol['rounds']}"
            )
        times_us = [time for r in rounds for time in (r["baseline_us"], r["candidate_us"])]
        # Below this, the ratio divides small differences, and noise can make it large.
        if min(times_us, default=0.0) * workload["calls"] <= workload["overhead_us"]:
            reasons.append(
                f"workload {name}: a round was hardly longer than an empty one, so its time "
                "cannot be measured; the benchmark needs a longer round_ms or more max_calls"
            )
        if not _watched_throughout(workload):
            reasons.append(f"workload {name}: its telemetry is not one reading a round and side")
        needed = len(rounds) * min(workload["calls"], protocol["checked_calls"])
        if workload["checks"]["calls_checked"] < needed:
            reasons.append(f"workload {name}: fewer calls were checked than the benchmark asks")
    return reasons


def _watched_throughout(workload: Mapping[str, Any]) -> bool:
    if workload["telemetry"] is None:
        return True
    columns = [column for side in workload["telemetry"].values() for column in side.values()]
    return all(len(column) == len(workload["rounds"]) for column in columns)
