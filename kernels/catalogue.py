"""What there is to measure, read without torch: operators, presets, candidates, documents."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.definition import Baseline, Definition, Preset

SCHEMA = "twofold.benchmark/1"
SOURCES = ("program.py", "reference.py", "baselines.py")
CANDIDATE_PATTERNS = ("torch_*.py", "triton_*.py", "cuda_*.py", "cuda_*.cu")

_FOLDER = Path(__file__).resolve().parent


class CatalogueError(LookupError):
    """No such operator, preset or baseline; the text names those that exist."""


def operators() -> list[str]:
    """The operators of the catalogue: every folder beside this file with an op.py."""
    return sorted(found.parent.name for found in _FOLDER.glob("*/op.py"))


def checked(operator: str) -> str:
    """The operator's name, once it is known to be one. CatalogueError otherwise."""
    if operator not in operators():
        raise CatalogueError(f"no operator '{operator}'; there are {', '.join(operators())}")
    return operator


def definition(operator: str) -> Definition:
    """The operator as plain data."""
    found: Definition = _op(operator).DEFINITION
    return found


def presets(operator: str) -> Mapping[str, Preset]:
    """The operator's ready-made benchmarks by name: "cpu", "h200" and others."""
    found: Mapping[str, Preset] = _op(operator).PRESETS
    return found


def preset_named(operator: str, name: str) -> Preset:
    """One of the operator's presets. CatalogueError names those that there are."""
    known = presets(operator)
    if name not in known:
        raise CatalogueError(f"{operator} has no preset '{name}'; it has {', '.join(known)}")
    return known[name]


def baselines(operator: str) -> dict[str, Baseline]:
    """The off-the-shelf Solutions by name. Whether one runs here, loading it will say."""
    return {known.name: known for known in _op(operator).BASELINES}


def candidates(operator: str) -> dict[str, Path]:
    """The operator's own kernels: file stem to file."""
    folder = _FOLDER / checked(operator)
    files = [file for pattern in CANDIDATE_PATTERNS for file in folder.glob(pattern)]
    return {file.stem: file for file in sorted(files)}


def flops(operator: str, axes: Mapping[str, int]) -> int:
    """Floating-point operations of one operator call."""
    count: int = _op(operator).flops(axes)
    return count


def bytes_moved(operator: str, axes: Mapping[str, int], dtype: str) -> int:
    """The least bytes one operator call can read and write."""
    count: int = _op(operator).bytes_moved(axes, dtype)
    return count


def source_digests(operator: str) -> dict[str, str]:
    """SHA-256 of the files that decide what is measured and against what."""
    folder = _FOLDER / checked(operator)
    return {name: _digest(folder / name) for name in SOURCES}


def benchmark_document(
    operator: str, preset: str, *, baseline: str | None = None
) -> dict[str, Any]:
    """The complete benchmark of one preset, ready to be sealed: plain JSON data.

    `baseline` names another than the preset's own.
    """
    what = definition(operator)
    chosen = preset_named(operator, preset)
    against = baseline or chosen.baseline
    if against not in baselines(operator):
        known = ", ".join(baselines(operator))
        raise CatalogueError(f"{operator} has no baseline '{against}'; it has {known}")
    return {
        "schema": SCHEMA,
        "name": f"{operator}/{preset}" + (f" against {baseline}" if baseline else ""),
        "operator": operator,
        "dtype": chosen.dtype,
        "definition": what.as_data(),
        "program": {"name": what.program, "launch": chosen.launch},
        "sources": source_digests(operator),
        "workloads": [
            {"name": load.name, "axes": dict(load.axes), "weight": load.weight}
            for load in chosen.workloads
        ],
        "tolerance": asdict(what.tolerances[chosen.dtype]),
        "baseline": asdict(baselines(operator)[against]),
        "hardware": {"device": chosen.device, "name": chosen.hardware},
        "calibration": None,
        "target": chosen.target,
        "confidence": chosen.confidence,
        "protocol": asdict(chosen.protocol),
    }


def _op(operator: str) -> ModuleType:
    return importlib.import_module(f"kernels.{checked(operator)}.op")


def _digest(file: Path) -> str:
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
