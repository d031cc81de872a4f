"""The referee: measure replicates until there is a verdict, then seal the record."""

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import torch

from benchmarks.harness.devices import ceilings
from benchmarks.harness.devices.telemetry import Telemetry
from benchmarks.harness.failures import Caught, DeviceFailed
from benchmarks.harness.rounds.phases import Phases
from benchmarks.harness.rounds.plans import RoundPlan
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import candidate_source, environment, provenance, replicates
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.preparation import prepare
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.runs.replicates import Unit
from benchmarks.harness.sides import folders, isolation, operators, user_ids
from benchmarks.records import observations, records
from benchmarks.records.canonical import digest, digest_of_bytes
from benchmarks.verdict import completeness, consistency, precision, verdicts
from benchmarks.verdict.controls import account
from benchmarks.verdict.statistics import interim

_RANDOM = random.SystemRandom()


@torch.no_grad()
def run(
    document: dict[str, Any],
    candidate: Candidate,
    *,
    device_kind: str,
    command: str,
    progress: Progress,
    nonces: Mapping[str, str] | None = None,
    required_isolation: Sequence[str] = (),
    telemetry: Telemetry | None = None,
    captured: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Measure `candidate` by a checked benchmark document and return the sealed record.

    Raises SetupError when the benchmark cannot be measured here (for example, if one of
    `required_isolation` is not in force), SideFailed when a side fails, and DeviceFailed when the
    device does. A finding against a side gives a record. `telemetry` replaces the device's own,
    `nonces` are by issuer: values that this run alone was given. `captured` are the files of
    captured tensors by path.
    """
    isolation.hide_referee()
    started_at, started = datetime.now(UTC), time.monotonic()
    phases = Phases()
    progress.started()
    with (
        operators.unpacked(document),
        user_ids.reserved() as first_user,
        folders.temporary() as folder,
        ExitStack() as stack,
    ):
        operators.check_sealed(document)
        with phases.of("preparing"):
            setting = prepare(
                document,
                candidate,
                device_kind,
                folder,
                first_user,
                telemetry,
                phases,
                stack,
                captured,
            )
            isolation.require(required_isolation, setting.device, setting.sandboxes)
            setting.monitor.begin()
            measured = ceilings.measure(setting.device, document["dtype"])
        draft = _begun(document, candidate) | {
            "environment": environment.capture(setting.device, setting.sandboxes, measured),
            "command": command,
            "provenance": provenance.capture(document["operator"]),
            "nonces": dict(nonces or {}),
            "started_at": started_at.isoformat(timespec="seconds"),
        }
        _measure(setting, draft, progress)
    draft["finished_at"] = datetime.now(UTC).isoformat(timespec="seconds")
    draft["phases_s"] = phases.seconds()
    draft["elapsed_s"] = round(time.monotonic() - started, 3)
    record = consistency.seal(draft)
    progress.finished(record["summary"])
    return record


def _begun(document: dict[str, Any], candidate: Candidate) -> dict[str, Any]:
    """A draft of the record before any measurement."""
    nothing = observations.nothing("the run ended early")
    return {
        "schema": records.SCHEMA_NAME,
        "benchmark": document,
        "benchmark_digest": digest(document),
        "candidate": {
            "name": candidate.name,
            "filename": candidate.filename,
            "source_digest": candidate.source_digest,
            "source": candidate.source,
        },
        "replicates": [],
        "correctness": None,
        "observations": nothing | {"costs": operators.costs(document)},
        "findings": [],
    }


def _measure(setting: Setting, draft: dict[str, Any], progress: Progress) -> None:
    """Measure into the draft. Raises DeviceFailed if the benchmark exceeds the device's memory."""
    try:
        if _measure_replicates(setting, draft, progress):
            _measure_same_code(setting, draft)
        draft["observations"]["gpu"] = setting.monitor.as_data()
        draft["observations"]["reach"] = setting.reach.as_data(
            candidate_source.patches(draft["candidate"]["source"], draft["candidate"]["filename"])
        )
    except (torch.OutOfMemoryError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise DeviceFailed(f"the benchmark exceeds the memory of this device: {reason}") from error


def _measure_replicates(setting: Setting, draft: dict[str, Any], progress: Progress) -> bool:
    """Measure replicates while inconclusive; False after a finding or an incomplete replicate."""
    protocol, seen = setting.protocol, draft["observations"]
    calls: dict[str, int] = {}
    # Drawn from those that every run has, so that a candidate cannot know which one.
    tried_in = _RANDOM.randrange(protocol["replicates"])
    for index in range(protocol["max_replicates"]):
        try:
            measured = replicates.measure(
                setting=setting,
                index=index,
                calls=calls,
                progress=progress,
                tries=index == tried_in,
            )
        except Caught as caught:
            draft["findings"].append(caught.finding.as_data())
            if caught.output:
                draft["candidate"] |= {
                    "output": caught.output,
                    "output_digest": digest_of_bytes(caught.output.encode()),
                }
            return False
        draft["correctness"] = measured.pop("correctness") or draft["correctness"]
        seen["operator"] = measured.pop("operator") or seen["operator"]
        draft["replicates"].append(measured)
        if precision.excess(draft):
            return False
        if index + 1 not in interim.schedule(protocol):
            progress.replicate(index, low=None, high=None, message="")
            continue
        if completeness.unusable(draft):
            return False
        so_far = verdicts.look(draft, index + 1)
        progress.replicate(
            index, low=so_far.low, high=so_far.high, message="; ".join(so_far.reasons)
        )
        if so_far.verdict != "inconclusive":
            break
    return True


def _measure_same_code(setting: Setting, draft: dict[str, Any]) -> None:
    """Measure the A/A pair at the heaviest workload, and the rest of the step around its slot.

    As far as the protocol asks for them.
    """
    rounds, seen = setting.protocol["aa_rounds"], draft["observations"]
    heaviest = max(setting.document["workloads"], key=lambda each: float(each["weight"]))
    pair = [Unit(workload=heaviest, plan=RoundPlan(rounds=rounds))] if rounds else []
    rest = _rest(setting, draft)
    if not pair and not rest:
        return
    try:
        measured = replicates.same_code(setting, len(draft["replicates"]), [*pair, *rest])
    except Caught as caught:
        draft["findings"].append(caught.finding.as_data())
        return
    if pair:
        seen["same_code"] = measured[0]
    if rest:
        seen["rest"] = [_without_errors(each) for each in measured[len(pair) :]]


def _rest(setting: Setting, draft: dict[str, Any]) -> list[Unit]:
    """The rest of every workload's step, where the account counts it."""
    if not account.counts_rest(draft):
        return []
    plan = RoundPlan(rounds=setting.protocol["operator_rounds"], level="rest")
    calls = {each["name"]: each["calls"] for each in draft["replicates"][0]["workloads"]}
    return [
        Unit(workload=workload, plan=plan, calls=calls[workload["name"]])
        for workload in setting.document["workloads"]
    ]


def _without_errors(pair: dict[str, Any]) -> dict[str, Any]:
    """Results of the rest are not compared with anything."""
    return {key: value for key, value in pair.items() if key != "rms"}
