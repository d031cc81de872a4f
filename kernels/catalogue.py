"""Operators, presets, candidates and benchmark documents, read without torch."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels import installed, languages, tolerances
from kernels.definition import Baseline, Definition, Preset, Slot, slots_of

SCHEMA = "twofold.benchmark/1"
SOURCES = ("program.py", "reference.py", "baselines.py")

_FOLDER = Path(__file__).resolve().parent


class CatalogueError(LookupError):
    """An unknown operator, preset or baseline; the text lists the known ones.

    `code` is "catalogue.operator", "catalogue.preset" or "catalogue.baseline".
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


def operators() -> list[str]:
    """The operators of the catalogue: every folder with an op.py, here and in other packages."""
    places = (_FOLDER, *installed.folders())
    return sorted({found.parent.name for place in places for found in place.glob("*/op.py")})


def operators_of_one_rank() -> list[str]:
    """The operators whose side is one process: all but those of several ranks."""
    return [operator for operator in operators() if not has_ranks(operator)]


def require_operator(operator: str) -> str:
    """Return the operator's name. CatalogueError if the catalogue does not have it."""
    folder(operator)
    return operator


def folder(operator: str) -> Path:
    """The operator's folder. CatalogueError if the catalogue does not have it."""
    # A name with a separator would reach other folders.
    places = (_FOLDER, *installed.folders()) if operator.isidentifier() else ()
    for place in places:
        if (place / operator / "op.py").is_file():
            return place / operator
    raise CatalogueError(
        f"no operator '{operator}'; there are {', '.join(operators())}", code="catalogue.operator"
    )


def definition(operator: str) -> Definition:
    """The operator as plain data."""
    found: Definition = _op(operator).DEFINITION
    return found


def has_ranks(operator: str) -> bool:
    """Whether a side is several processes, each on a device of its own: the axis `ranks`."""
    return "ranks" in definition(operator).axes


def presets(operator: str) -> Mapping[str, Preset]:
    """The operator's ready-made benchmarks by name: "cpu", "h200" and others."""
    found: Mapping[str, Preset] = _op(operator).PRESETS
    return found


def preset_named(operator: str, name: str) -> Preset:
    """One of the operator's presets. CatalogueError if it has no such preset."""
    known = presets(operator)
    if name not in known:
        raise CatalogueError(
            f"{operator} has no preset '{name}'; it has {', '.join(known)}", code="catalogue.preset"
        )
    return known[name]


def baselines(operator: str) -> dict[str, Baseline]:
    """The off-the-shelf Solutions by name. Loading one shows if it runs here."""
    return {known.name: known for known in _op(operator).BASELINES}


def candidates(operator: str) -> dict[str, Path]:
    """The operator's own kernels: file stem to file."""
    # Gluon and others launch CUDA from Python.
    patterns = {"cuda_*.py", *(language.pattern for language in languages.known().values())}
    files = [file for pattern in patterns for file in folder(operator).glob(pattern)]
    return {file.stem: file for file in sorted(files)}


def flops(operator: str, axes: Mapping[str, int]) -> int:
    """Floating-point operations of one operator call."""
    count: int = _op(operator).flops(axes)
    return count


def bytes_moved(operator: str, axes: Mapping[str, int], dtype: str) -> int:
    """Minimum bytes that one operator call reads and writes."""
    count: int = _op(operator).bytes_moved(axes, dtype)
    return count


def slots(operator: str, axes: Mapping[str, int]) -> tuple[Slot, ...]:
    """The operator's calls in one step, by shape: once a layer unless op.py says otherwise."""
    return slots_of(_op(operator), axes)


def reference_source(operator: str) -> str:
    """The text of the operator's reference.py."""
    return (folder(operator) / "reference.py").read_text()


def reference_of(document: Mapping[str, Any]) -> str:
    """The text of reference.py of a benchmark: its own, or that of its operator."""
    own: str | None = document.get("files", {}).get("reference.py")
    return own or reference_source(document["operator"])


def source_digests(operator: str) -> dict[str, str]:
    """SHA-256 of the operator's Program, reference and baselines."""
    return {name: _digest(folder(operator) / name) for name in SOURCES}


def benchmark_document(
    operator: str, preset: str, *, baseline: str | None = None
) -> dict[str, Any]:
    """The complete benchmark of one preset as plain JSON data, ready to be sealed.

    `baseline` replaces the preset's own.
    """
    what = definition(operator)
    chosen = preset_named(operator, preset)
    against = baseline or chosen.baseline
    if against not in baselines(operator):
        known = ", ".join(baselines(operator))
        raise CatalogueError(
            f"{operator} has no baseline '{against}'; it has {known}", code="catalogue.baseline"
        )
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
        "operator_tolerance": asdict({**what.tolerances, **what.operator_tolerances}[chosen.dtype]),
        "arithmetic": tolerances.arithmetic(chosen.dtype),
        "baseline": asdict(baselines(operator)[against]),
        "hardware": {"device": chosen.device, "name": chosen.hardware},
        "calibration": None,
        "target": chosen.target,
        "confidence": chosen.confidence,
        "protocol": {
            **asdict(chosen.protocol),
            "allowed_reach": list(chosen.protocol.allowed_reach),
        },
    }


def _op(operator: str) -> ModuleType:
    return importlib.import_module(f"kernels.{require_operator(operator)}.op")


def _digest(file: Path) -> str:
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
