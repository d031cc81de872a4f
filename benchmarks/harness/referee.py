"""The referee: replicate after replicate until the verdict stands, then the record."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import (
    arenas,
    ceilings,
    cells,
    completeness,
    environment,
    isolation,
    looks,
    observations,
    operators,
    records,
    replicates,
    verdicts,
)
from benchmarks.harness.arenas import Device
from benchmarks.harness.candidates import Candidate
from benchmarks.harness.canonical import digest
from benchmarks.harness.cells import CellError, Cells
from benchmarks.harness.checksums import Checksum
from benchmarks.harness.contents import generator
from benchmarks.harness.documents import BenchmarkError
from benchmarks.harness.failures import Caught, DeviceFailed
from benchmarks.harness.phases import Phases
from benchmarks.harness.progress import Progress
from benchmarks.harness.quiet import Quiet
from benchmarks.harness.settings import Setting
from benchmarks.harness.telemetry import Telemetry, open_for
from benchmarks.harness.watches import Watch


@torch.no_grad()
def run(
    document: dict[str, Any],
    candidate: Candidate,
    *,
    device_kind: str,
    command: str,
    progress: Progress,
    required_isolation: Sequence[str] = (),
    telemetry: Telemetry | None = None,
) -> dict[str, Any]:
    """Measure `candidate` by a checked benchmark document; returns the sealed record.

    Raises BenchmarkError when the benchmark cannot be measured here (as when one of
    `required_isolation` is not in force), SideFailed when a side
    raised, hung, died or broke its channel, DeviceFailed when the device fails the referee.
    A side that was caught is a record like any other. `telemetry` stands in for the device's
    own instruments.
    """
    operators.check_sealed(document)
    isolation.hide_referee()
    started_at, started = datetime.now(UTC), time.monotonic()
    phases = Phases()
    progress.started()
    with tempfile.TemporaryDirectory(prefix="twofold-") as folder:
        with phases.of("preparing"):
            setting = prepared(document, candidate, device_kind, Path(folder), telemetry, phases)
            isolation.require(required_isolation, setting.device, setting.cells)
            setting.watch.begin()
            measured = ceilings.measure(setting.device, document["dtype"])
        draft: dict[str, Any] = {
            "schema": records.SCHEMA_NAME,
            "benchmark": document,
            "benchmark_digest": digest(document),
            "candidate": {
                "name": candidate.name,
                "filename": candidate.filename,
                "source_digest": candidate.source_digest,
                "source": candidate.source,
            },
            "environment": environment.capture(setting.device, setting.cells, measured),
            "command": command,
            "started_at": started_at.isoformat(timespec="seconds"),
            "replicates": [],
            "correctness": None,
            "observations": observations.nothing("the run did not come to its end"),
            "findings": [],
        }
        draft["observations"]["costs"] = operators.costs(document)
        try:
            _measure(setting, draft, progress)
            draft["observations"]["gpu"] = setting.watch.as_data()
        except (torch.OutOfMemoryError, MemoryError) as error:
            reason = str(error).partition("\n")[0]
            raise DeviceFailed(f"the benchmark does not fit this device: {reason}") from error
    draft["finished_at"] = datetime.now(UTC).isoformat(timespec="seconds")
    draft["phases_s"] = phases.seconds()
    draft["elapsed_s"] = round(time.monotonic() - started, 3)
    record = records.sealed(draft)
    progress.finished(record["summary"])
    return record


def prepared(
    document: dict[str, Any],
    candidate: Candidate,
    device_kind: str,
    folder: Path,
    telemetry: Telemetry | None = None,
    phases: Phases | None = None,
) -> Setting:
    """Everything that a run needs before its first side; BenchmarkError where it cannot be had."""
    try:
        device = arenas.device(device_kind)
    except (RuntimeError, ImportError) as error:
        raise BenchmarkError(f"this machine cannot measure on {device_kind}: {error}") from error
    threads = environment.cores()
    torch.set_num_threads(threads)
    # Only what the referee read is run, whatever becomes of the original file meanwhile.
    copy = folder / f"candidate{Path(candidate.filename).suffix}"
    copy.write_text(candidate.source)
    return Setting(
        document=document,
        device=device,
        reference_step=operators.part(document["operator"], "reference").reference_step,
        reference=getattr(operators.part(document["operator"], "reference"), "reference", None),
        watch=Watch(telemetry or open_for(device)),
        quiet=Quiet(device),
        source=generator(device.torch_device),
        checksum=Checksum(device.torch_device),
        candidate=copy,
        scratch=folder,
        cells=_cells(device, folder, copy),
        threads=threads,
        phases=phases or Phases(),
    )


def _cells(device: Device, folder: Path, candidate: Path) -> Cells:
    """Where the sides live, tried out: on CUDA memory of the referee must open there."""
    arena = device.allocate(1, read_only=False)
    try:
        handle, _ = arena.handle()
        return cells.prepare(folder=folder, candidate=candidate, arena=handle.get("ipc"))
    except CellError as error:
        raise BenchmarkError(str(error)) from error
    finally:
        arena.close()


def _measure(setting: Setting, draft: dict[str, Any], progress: Progress) -> None:
    """Fill the draft's replicates and findings; more replicates while inconclusive."""
    protocol, seen = setting.protocol, draft["observations"]
    calls: dict[str, int] = {}
    for index in range(protocol["max_replicates"]):
        try:
            measured = replicates.measure(
                setting=setting, index=index, calls=calls, progress=progress
            )
        except Caught as caught:
            draft["findings"].append(caught.finding.as_data())
            return
        draft["correctness"] = measured.pop("correctness") or draft["correctness"]
        seen["operator"] = measured.pop("operator") or seen["operator"]
        draft["replicates"].append(measured)
        if index + 1 not in looks.schedule(protocol):
            progress.replicate(index, low=None, high=None, message="")
            continue
        if completeness.unusable(draft):
            return
        so_far = verdicts.look(draft, index + 1)
        progress.replicate(
            index, low=so_far.low, high=so_far.high, message="; ".join(so_far.reasons)
        )
        if so_far.verdict != "inconclusive":
            break
    if protocol["aa_rounds"] == 0:
        return
    heaviest = max(setting.document["workloads"], key=lambda each: float(each["weight"]))
    try:
        (seen["same_code"],) = replicates.same_code(
            setting, len(draft["replicates"]), [heaviest], protocol["aa_rounds"]
        )
    except Caught as caught:
        draft["findings"].append(caught.finding.as_data())
