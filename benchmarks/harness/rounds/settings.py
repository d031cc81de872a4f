"""The constants of one run of the referee."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.captured import Captured
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.idle import IdleCheck
from benchmarks.harness.devices.monitor import Monitor
from benchmarks.harness.rounds.phases import Phases
from benchmarks.harness.rounds.reach import Reach
from benchmarks.harness.sides.sandboxes import Sandboxes

ReferenceStep = Callable[..., dict[str, torch.Tensor]]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The benchmark, the device, the references and the tools of a run.

    `reference` is that of the operator alone, None where it has none; `source` draws contents on
    the device; `candidate` is a private copy of the candidate's file; `scratch` holds the sides'
    folders; `phases` accounts for time; `reach` collects what the candidate did outside its slot;
    `chain_us` is what chaining adds to a call, and `captured` its captured tensors, by workload.
    """

    document: dict[str, Any]
    device: Device
    reference_step: ReferenceStep
    reference: ReferenceStep | None
    source: torch.Generator
    checksum: Checksum
    candidate: Path
    monitor: Monitor
    idle_check: IdleCheck
    scratch: Path
    sandboxes: Sandboxes
    threads: int
    phases: Phases = field(default_factory=Phases)
    reach: Reach = field(default_factory=Reach)
    chain_us: Mapping[str, float] = field(default_factory=dict)
    captured: Mapping[str, Captured] = field(default_factory=dict)

    @property
    def protocol(self) -> dict[str, Any]:
        """The sealed protocol."""
        protocol: dict[str, Any] = self.document["protocol"]
        return protocol

    def tolerance(self, level: str) -> dict[str, Any]:
        """The sealed tolerance of the Program or of the operator alone."""
        name = "operator_tolerance" if level == "operator" else "tolerance"
        found: dict[str, Any] = self.document.get(name) or self.document["tolerance"]
        return found

    @property
    def definition(self) -> dict[str, Any]:
        """The sealed Definition, as plain data."""
        definition: dict[str, Any] = self.document["definition"]
        return definition
