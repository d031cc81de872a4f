"""What stays the same throughout one run of the referee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.idle import Quiet
from benchmarks.harness.devices.monitor import Watch
from benchmarks.harness.rounds.phases import Phases
from benchmarks.harness.sides.sandboxes import Cells

ReferenceStep = Callable[..., dict[str, torch.Tensor]]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The benchmark, where it is measured, and what outputs are held against.

    `reference` is the operator's alone, None where it has none; `watch` reads the instruments;
    `source` draws fresh contents on the device; `candidate` is the private copy of the
    candidate's file; `scratch` holds every side's folder and goes with the run; `cells` confine
    the sides; `quiet` knows whether the device rests; `phases` counts where the time goes.
    """

    document: dict[str, Any]
    device: Device
    reference_step: ReferenceStep
    reference: ReferenceStep | None
    source: torch.Generator
    checksum: Checksum
    candidate: Path
    watch: Watch
    quiet: Quiet
    scratch: Path
    cells: Cells
    threads: int
    phases: Phases = field(default_factory=Phases)

    @property
    def protocol(self) -> dict[str, Any]:
        """The sealed protocol."""
        protocol: dict[str, Any] = self.document["protocol"]
        return protocol

    @property
    def definition(self) -> dict[str, Any]:
        """The sealed Definition, as plain data."""
        definition: dict[str, Any] = self.document["definition"]
        return definition
