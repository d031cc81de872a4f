"""A benchmark as a folder that a customer writes, and the document that is sealed from it.

    benchmark.toml      axes, tensors, workloads, tolerances, protocol, hardware
    reference.py        reference(...) and reference_step(...), in higher precision
    program.py          Step, the end-to-end step with the operator's slot
    baselines/NAME.py   off-the-shelf Solutions, written as candidates are

The document contains the files' text, so a record or a bundle repeats without the folder. None of
the folder's Python runs here.
"""

from __future__ import annotations

import ast
import importlib.util
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.records import documents, folder_schema, schemas
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.documents import InvalidBenchmark
from kernels import candidate_templates, protocols, tolerances
from kernels.definition import (
    INDEX_DISTRIBUTIONS,
    ITEM_BYTES,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    Preset,
    SpecialValues,
    TensorSpec,
    Tolerance,
    Workload,
)

DESCRIPTION = "benchmark.toml"
_REQUIRED = (DESCRIPTION, "program.py", "reference.py")
_NAME = re.compile(r"(benchmark\.toml|program\.py|reference\.py|baselines/[a-z][a-z0-9_]*\.py)")
_NEEDS = {"program.py": ("Step",), "reference.py": ("reference", "reference_step")}
MAX_FILES, MAX_FILE_BYTES = 20, 400_000
# Of one call's tensors and the state, which both sides and the referee have.
_MAX_TENSOR_BYTES = {"cpu": 1 << 30, "cuda": 40 << 30}
_PROTOCOLS = {
    "tiny": protocols.TINY,
    "cpu": protocols.CPU,
    "cuda": protocols.CUDA,
    "h200": protocols.H200,
}
_ITEM_BYTES = {**ITEM_BYTES, "float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1}
_ITEM_BYTES |= {"uint8": 1, "bool": 1}


class FolderError(InvalidBenchmark):
    """A folder that is no benchmark: the file, the field and the remedy.

    `code` is "folder." and one of: archive, missing, file, size, encoding, syntax, field, name,
    function, baseline, weights, axes, tensors, log.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = f"folder.{code}"


def read(folder: Path) -> dict[str, str]:
    """The text of a folder's files by path. FolderError for others, links and large ones."""
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name == "__pycache__" or path.suffix == ".pyc" or name == "README.md":
            continue
        if path.is_symlink():
            raise FolderError(f"{name} is a link: copy the file", code="file")
        if path.is_dir() and name == "baselines":
            continue
        if not path.is_file() or not _NAME.fullmatch(name):
            raise FolderError(
                f"{name} is not part of a benchmark: remove it; a folder contains "
                f"{', '.join(_REQUIRED)} and baselines/NAME.py",
                code="file",
            )
        if len(files) == MAX_FILES or path.stat().st_size > MAX_FILE_BYTES:
            raise FolderError(
                f"{name}: a benchmark has at most {MAX_FILES} files of {MAX_FILE_BYTES:,} bytes",
                code="size",
            )
        files[name] = decoded(name, path.read_bytes())
    return files


def decoded(name: str, content: bytes) -> str:
    """A file's text. Raises FolderError."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FolderError(f"{name} is not UTF-8: save it as UTF-8", code="encoding") from error


def document(files: Mapping[str, str], *, baseline: str | None = None) -> dict[str, Any]:
    """The benchmark document of a folder's files, ready to be sealed. Raises FolderError.

    `baseline` replaces the one that the description names, such as by the fastest that fits.
    """
    check_files(files)
    described = _described(files)
    if baseline is not None:
        described["baseline"] = baseline
    what, preset = definition(described), _preset(described)
    if candidate_templates.trains(what.as_data()):
        _require_gradients(files)
    made = {
        "schema": documents.SCHEMA_NAME,
        "name": f"{what.operator}/{preset.dtype} on {preset.hardware or preset.device}",
        "operator": what.operator,
        "dtype": preset.dtype,
        "definition": what.as_data(),
        "program": {"name": what.program, "launch": preset.launch},
        "files": dict(files),
        "sources": {name: digest_of_bytes(text.encode()) for name, text in files.items()},
        "workloads": [asdict(load) for load in preset.workloads],
        "tolerance": asdict(what.tolerances[preset.dtype]),
        "operator_tolerance": asdict(what.operator_tolerances[preset.dtype]),
        "arithmetic": tolerances.arithmetic(preset.dtype),
        "baseline": asdict(_baseline(described, files)),
        "hardware": {"device": preset.device, "name": preset.hardware},
        "calibration": None,
        "target": preset.target,
        "confidence": preset.confidence,
        "protocol": {
            **asdict(preset.protocol),
            "allowed_reach": list(preset.protocol.allowed_reach),
        },
    }
    if "traffic" in described:
        made["traffic"] = described["traffic"]
    _check_tensors(what, preset)
    try:
        documents.check(made)
    except FolderError:
        raise
    except InvalidBenchmark as error:
        raise FolderError(f"{DESCRIPTION}: {error}", code="field") from error
    return made


def baselines(files: Mapping[str, str]) -> list[str]:
    """The names of a folder's baselines, in order."""
    return sorted(Path(each).stem for each in files if each.startswith("baselines/"))


def check_files(files: Mapping[str, str]) -> None:
    """Require the folder's files, their names and functions, without running them."""
    if len(files) > MAX_FILES:
        raise FolderError(f"a benchmark has at most {MAX_FILES} files", code="size")
    for name in _REQUIRED:
        if name not in files:
            raise FolderError(f"{name} is missing: add it", code="missing")
    for name, text in files.items():
        if not _NAME.fullmatch(name):
            raise FolderError(f"{name} is not part of a benchmark: remove it", code="file")
        if len(text) > MAX_FILE_BYTES:
            raise FolderError(f"{name} is larger than {MAX_FILE_BYTES:,} bytes", code="size")
        if not name.endswith(".py"):
            continue
        try:
            defined = {getattr(node, "name", "") for node in ast.parse(text).body}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise FolderError(f"{name} is not Python: {error}", code="syntax") from error
        for needed in _NEEDS.get(name, ("run",)):
            if needed not in defined:
                raise FolderError(f"{name} does not define {needed}: add it", code="function")


def _require_gradients(files: Mapping[str, str]) -> None:
    """Require the backward pass of every baseline."""
    for name in (f"baselines/{each}.py" for each in baselines(files)):
        defined = {getattr(node, "name", "") for node in ast.parse(files[name]).body}
        if "gradients" not in defined:
            raise FolderError(
                f"{name} does not define gradients, which the Program’s outputs include: add it",
                code="function",
            )


def op(files: Mapping[str, str], folder: Path) -> ModuleType:
    """The folder's description as an operator's `op` module: DEFINITION, costs and PRESETS."""
    described = _described(files)
    what = definition(described)
    module = ModuleType(f"kernels.{what.operator}.op")
    module.__file__ = str(folder / "op.py")
    specs = (*what.state, *what.inputs, *what.outputs)

    def bytes_moved(axes: Mapping[str, int], dtype: str) -> int:
        return sum(_nbytes(spec, axes, dtype) for spec in specs)

    def flops(axes: Mapping[str, int]) -> int:
        return sum(
            math.prod(axes[factor] if isinstance(factor, str) else factor for factor in product)
            for product in described["flops"]
        )

    module.__dict__.update(DEFINITION=what, PRESETS={"folder": _preset(described)})
    if "flops" in described:
        module.__dict__.update(bytes_moved=bytes_moved, flops=flops)
    return module


def _described(files: Mapping[str, str]) -> dict[str, Any]:
    try:
        described = tomllib.loads(files[DESCRIPTION])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FolderError(f"{DESCRIPTION} is not TOML: {error}", code="syntax") from error
    if broken := schemas.violation(described, folder_schema.SCHEMA):
        raise FolderError(f"{DESCRIPTION} {broken}", code="field")
    # Until `twofold check` has measured which is the fastest.
    described.setdefault("baseline", next(iter(baselines(files)), ""))
    name = described["operator"]
    if importlib.util.find_spec(f"kernels.{name}") and not _is_unpacked(name):
        raise FolderError(
            f"{DESCRIPTION}: operator '{name}' exists in the catalogue: choose another name",
            code="name",
        )
    return described


def _is_unpacked(name: str) -> bool:
    """Whether `kernels.<name>` is a benchmark folder that a run has unpacked."""
    spec = importlib.util.find_spec(f"kernels.{name}")
    places = (spec and spec.submodule_search_locations) or ()
    return any((Path(place) / DESCRIPTION).is_file() for place in places)


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


def _preset(described: Mapping[str, Any]) -> Preset:
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
        workloads=tuple(Workload(**load) for load in loads),
        protocol=replace(base, **protocol),
    )


def _baseline(described: Mapping[str, Any], files: Mapping[str, str]) -> Baseline:
    """The chosen baseline, by its file's name."""
    name = described["baseline"]
    about = described.get("baselines", {}).get(name, {})
    if f"baselines/{name}.py" not in files:
        raise FolderError(
            f"{DESCRIPTION}: baseline '{name}' has no baselines/{name}.py; there are "
            f"{', '.join(baselines(files)) or 'none'}",
            code="baseline",
        )
    return Baseline(
        name=name, package=about.get("package", "torch"), title=about.get("title", name)
    )


def _nbytes(spec: TensorSpec, axes: Mapping[str, int], dtype: str) -> int:
    return math.prod(spec.sizes(axes)) * _ITEM_BYTES.get(spec.dtype or dtype, 8)


def _check_tensors(what: Definition, preset: Preset) -> None:
    """Refuse workloads whose tensors exceed the device."""
    limit = _MAX_TENSOR_BYTES[preset.device]
    specs = (*what.program_state, *what.program_inputs, *what.program_outputs)
    for load in preset.workloads:
        needed = sum(_nbytes(spec, load.axes, preset.dtype) for spec in specs)
        if needed > limit:
            raise FolderError(
                f"{DESCRIPTION}: workload {load.name} has {needed / 1e9:,.1f} GB of tensors; on "
                f"{preset.device} use at most {limit / 1e9:,.1f} GB: reduce its axes",
                code="tensors",
            )
