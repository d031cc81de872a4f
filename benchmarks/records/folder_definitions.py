"""Read the operator's Definition and its preset from `benchmark.toml`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.records.folder_errors import DESCRIPTION, FolderError
from kernels import protocols, tolerances
from kernels.definition import (
    INDEX_DISTRIBUTIONS,
    STORED_BYTES,
    Contents,
    Definition,
    HeldBack,
    Preset,
    SpecialValues,
    TensorSpec,
    Tolerance,
    Workload,
)

# Of one call's tensors and the state, which both sides and the referee have.
_MAX_TENSOR_BYTES = {"cpu": 1 << 30, "cuda": 40 << 30}

_PROTOCOLS = {
    "tiny": protocols.TINY,
    "cpu": protocols.CPU,
    "cuda": protocols.CUDA,
    "h200": protocols.H200,
}


def definition(described: Mapping[str, Any]) -> Definition:
    """The Definition of a valid description."""
    program, dtype = described["program"], described["dtype"]
    parts = {
        part: tuple(map(_tensor, described.get(part, ())))
        for part in ("state", "inputs", "outputs")
    }
    held = described.get("held_back", {})
    wide = {dtype: _tolerance(described["tolerance"], dtype, tolerances.PROGRAM_RMS_FACTOR)}
    own = described.get("operator_tolerance", described["tolerance"])
    names = described["axes"]
    unknown = {
        side
        for where in (described, program)
        for part in parts
        for spec in where.get(part, ())
        for side in (*spec["shape"], *spec.get("fan_in", ()), *_below(spec))
        if isinstance(side, str) and side not in names
    }
    if unknown:
        raise FolderError(
            f"{DESCRIPTION}: a tensor uses {', '.join(sorted(unknown))}: add it to [axes]",
            code="axes",
        )
    return Definition(
        operator=described["operator"],
        title=described["title"],
        summary=described["summary"],
        axes=names,
        **parts,
        program=program["name"],
        **{
            f"program_{part}": tuple(map(_tensor, program[part])) if part in program else specs
            for part, specs in parts.items()
        },
        tolerances=wide,
        operator_tolerances={dtype: _tolerance(own, dtype, tolerances.OPERATOR_RMS_FACTOR)},
        held_back=HeldBack(
            free=tuple(held.get("free", ())),
            strided=tuple(held.get("strided", ())),
            special=tuple(
                SpecialValues(
                    name=each["name"],
                    contents={name: Contents(**how) for name, how in each["contents"].items()},
                    gain=float(each.get("gain", 1.0)),
                )
                for each in held.get("special", ())
            ),
        ),
        chain=program.get("chain", {}),
    )


def _below(spec: Mapping[str, Any]) -> tuple[str, ...]:
    return (spec["below"],) if "below" in spec else ()


def _tensor(data: Mapping[str, Any]) -> TensorSpec:
    if data.get("distribution") in INDEX_DISTRIBUTIONS and not (
        "below" in data and data.get("dtype") in ("int32", "int64")
    ):
        raise FolderError(
            f"{DESCRIPTION}: {data['name']} is of {data['distribution']}: add below = AXIS and "
            'dtype = "int32"',
            code="field",
        )
    lists = {name: tuple(data[name]) for name in ("shape", "fan_in") if name in data}
    return TensorSpec(**{**data, **lists})


def _tolerance(data: Mapping[str, Any], dtype: str, rms_factor: float) -> Tolerance:
    if "terms" in data:
        factor = float(data.get("rms_factor", rms_factor))
        return tolerances.tolerance(
            dtype, terms=data["terms"], roundings=data["roundings"], rms_factor=factor
        )
    return Tolerance(**{name: float(value) for name, value in data.items()})


def preset(described: Mapping[str, Any]) -> Preset:
    """The hardware, workloads and protocol of a valid description. Raises FolderError."""
    hardware, protocol = described["hardware"], dict(described.get("protocol", {}))
    device = hardware["device"]
    base = _PROTOCOLS[protocol.pop("base", device)]
    loads = described["workloads"]
    total = math.fsum(load["weight"] for load in loads)
    if abs(total - 1) > 1e-9:
        raise FolderError(
            f"{DESCRIPTION}: workload weights add up to {total:g}: make them add up to 1",
            code="weights",
        )
    for load in loads:
        if missing := sorted(set(described["axes"]) - set(load["axes"])):
            raise FolderError(
                f"{DESCRIPTION}: workload {load['name']} has no {', '.join(missing)}: add it",
                code="axes",
            )
        if unknown := sorted(set(load["axes"]) - set(described["axes"])):
            raise FolderError(
                f"{DESCRIPTION}: [axes] lacks {', '.join(unknown)} of workload {load['name']}",
                code="axes",
            )
    return Preset(
        title=described["title"],
        device=device,
        hardware=hardware.get("name"),
        dtype=described["dtype"],
        launch=described["program"].get("launch", "eager"),
        baseline=described["baseline"],
        candidate="",
        target=float(described.get("target", 2.0)),
        confidence=float(described.get("confidence", 0.95)),
        workloads=tuple(
            Workload(name=load["name"], axes=load["axes"], weight=load["weight"]) for load in loads
        ),
        protocol=replace(base, **protocol),
    )


def nbytes(spec: TensorSpec, axes: Mapping[str, int], dtype: str) -> int:
    """The bytes of a tensor at a workload's axes."""
    return math.prod(spec.sizes(axes)) * STORED_BYTES.get(spec.dtype or dtype, 8)


def check_tensors(what: Definition, chosen: Preset) -> None:
    """Refuse workloads whose tensors exceed the device."""
    limit = _MAX_TENSOR_BYTES[chosen.device]
    specs = (*what.program_state, *what.program_inputs, *what.program_outputs)
    for load in chosen.workloads:
        needed = sum(nbytes(spec, load.axes, chosen.dtype) for spec in specs)
        if needed > limit:
            raise FolderError(
                f"{DESCRIPTION}: workload {load.name} has {needed / 1e9:,.1f} GB of tensors; on "
                f"{chosen.device} use at most {limit / 1e9:,.1f} GB: reduce its axes",
                code="tensors",
            )
