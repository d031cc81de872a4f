"""Prepare a run: device, sandboxes and the referee's copy of the candidate."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness.devices import backends, rank_devices, rank_layouts, rank_telemetry
from benchmarks.harness.devices import captured as captures
from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.contents import generator
from benchmarks.harness.devices.idle import IdleCheck
from benchmarks.harness.devices.monitor import Monitor
from benchmarks.harness.devices.rank_idle import RankedIdleCheck
from benchmarks.harness.devices.telemetry import NoTelemetry, Telemetry, open_for
from benchmarks.harness.failures import SetupError
from benchmarks.harness.rounds import chain_costs
from benchmarks.harness.rounds.phases import Phases
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import environment
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.foreign_references import ForeignReference
from benchmarks.harness.sides import operators, sandboxes
from benchmarks.harness.sides.sandboxes import SandboxError, Sandboxes
from benchmarks.records.captured_tensors import CapturedError

# Threads of a side on a GPU. Each is stopped and inspected between turns: with one per processor,
# twice, that took a third of a run on an H200's host.
_THREADS_BESIDE_A_GPU = 4


def prepare(
    document: dict[str, Any],
    candidate: Candidate,
    device_kind: str,
    folder: Path,
    first_user: int,
    telemetry: Telemetry | None = None,
    phases: Phases | None = None,
    stack: ExitStack | None = None,
    captured: Mapping[str, bytes] | None = None,
) -> Setting:
    """Prepare everything a run needs before its first side. Raises SetupError.

    `folder` and `first_user` (and the next) are reserved for this run; `stack` ends the processes
    of a reference that is not the catalogue's. `captured` are the files of
    captured tensors by path.
    """
    try:
        ranks = rank_layouts.count(document)
        device = (
            backends.device(device_kind)
            if ranks == 1
            else rank_devices.of_referee(device_kind, ranks)
        )
    except (RuntimeError, ImportError) as error:
        raise SetupError(f"this machine cannot measure on {device_kind}: {error}") from error
    try:
        held = captures.of_workloads(document, captured or {}, device.torch_device)
    except CapturedError as error:
        raise SetupError(str(error)) from error
    threads = environment.threads(document["protocol"])
    torch.set_num_threads(threads)
    # Run exactly the source that was read, even if the original file changes.
    copy = folder / f"candidate{Path(candidate.filename).suffix}"
    # As bytes, independent of the machine's encoding.
    copy.write_bytes(candidate.source.encode())
    # Before any foreign process, the reference's too, could slow it.
    chain_us = chain_costs.measured(document, device)
    prepared = _sandboxes(device, folder, copy, first_user)
    reference: Any
    if "files" in document:
        assert stack is not None
        reference = stack.enter_context(
            ForeignReference(
                document,
                device=device,
                sandbox=prepared.by_role["baseline"],
                folder=folder,
                threads=threads,
            )
        )
    else:
        reference = operators.part(document["operator"], "reference")
    reference_step, alone = reference.reference_step, getattr(reference, "reference", None)
    if ranks > 1:
        definition = document["definition"]
        reference_step = rank_layouts.of_all_ranks(reference_step, definition, "program_")
        alone = alone and rank_layouts.of_all_ranks(alone, definition, "")
    return Setting(
        document=document,
        device=device,
        reference_step=reference_step,
        reference=alone,
        monitor=Monitor(telemetry or _telemetry(device, ranks)),
        idle_check=IdleCheck(device) if ranks == 1 else RankedIdleCheck(device),
        source=generator(device.torch_device),
        checksum=Checksum(device.torch_device),
        candidate=copy,
        scratch=folder,
        sandboxes=prepared,
        threads=threads if device.kind == "cpu" else min(threads, _THREADS_BESIDE_A_GPU),
        phases=phases or Phases(),
        chain_us=chain_us,
        captured=held,
    )


def _telemetry(device: Device, ranks: int) -> Telemetry | NoTelemetry:
    return open_for(device) if ranks == 1 else rank_telemetry.open_for(device.kind, ranks)


def _sandboxes(device: Device, folder: Path, candidate: Path, first_user: int) -> Sandboxes:
    """The sandboxes, where on CUDA the referee's memory must open."""
    several = hasattr(device, "ranks")
    # Ranks' memory opens by descriptors; the trial only shows that CUDA starts in the sandbox.
    arena = (backends.device(device.kind) if several else device).allocate(1, read_only=False)
    try:
        handle, _ = arena.handle()
        return sandboxes.prepare(
            folder=folder,
            candidate=candidate,
            arena=handle.get("ipc"),
            first_user=first_user,
            loopback=several,
        )
    except SandboxError as error:
        raise SetupError(str(error)) from error
    finally:
        arena.close()
