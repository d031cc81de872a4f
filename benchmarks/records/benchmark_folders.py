"""A benchmark as a folder that a customer writes, and the document that is sealed from it.

    benchmark.toml      axes, tensors, workloads, tolerances, protocol, hardware
    reference.py        reference(...) and reference_step(...), in higher precision
    program.py          Step, the end-to-end step with the operator's slot
    baselines/NAME.py   off-the-shelf Solutions, written as candidates are
    captured/NAME.safetensors   tensors of real calls, where a workload names them

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
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.records import (
    captured_tensors,
    documents,
    folder_definitions,
    folder_schema,
    schemas,
)
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.records.folder_errors import DESCRIPTION, FolderError
from kernels import candidate_templates, tolerances
from kernels.definition import (
    Baseline,
)

_REQUIRED = (DESCRIPTION, "program.py", "reference.py")
_NAME = re.compile(r"(benchmark\.toml|program\.py|reference\.py|baselines/[a-z][a-z0-9_]*\.py)")
_NEEDS = {"program.py": ("Step",), "reference.py": ("reference", "reference_step")}
MAX_FILES, MAX_FILE_BYTES = 20, 400_000


def read(folder: Path) -> dict[str, str]:
    """The text of a folder's files by path. FolderError for others, links and large ones."""
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name == "__pycache__" or path.suffix == ".pyc" or name == "README.md":
            continue
        if path.is_symlink():
            raise FolderError(f"{name} is a link: copy the file", code="file")
        if path.is_dir() and name in ("baselines", captured_tensors.FOLDER):
            continue
        if captured_tensors.NAME.fullmatch(name):
            # Not text: `captured` reads them.
            continue
        require_part(name, is_file=path.is_file())
        if len(files) == MAX_FILES or path.stat().st_size > MAX_FILE_BYTES:
            raise FolderError(
                f"{name}: a benchmark has at most {MAX_FILES} files of {MAX_FILE_BYTES:,} bytes",
                code="size",
            )
        files[name] = decoded(name, path.read_bytes())
    return files


def require_part(name: str, *, is_file: bool = True) -> None:
    """Refuse a file that is not a text of a benchmark folder."""
    if not is_file or not _NAME.fullmatch(name):
        raise FolderError(
            f"{name} is not part of a benchmark: remove it; a folder contains "
            f"{', '.join(_REQUIRED)}, baselines/NAME.py and captured/NAME.safetensors",
            code="file",
        )


def captured(folder: Path) -> dict[str, bytes]:
    """The files of captured tensors of a folder by path. Raises FolderError."""
    try:
        return captured_tensors.read(folder)
    except captured_tensors.CapturedError as error:
        raise FolderError(str(error), code="captured") from error


def of_folder(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The document of a folder, and its captured files by path. Raises FolderError."""
    held = captured(folder)
    return document(read(folder), captured=described(held)), held


def described(files: Mapping[str, bytes]) -> dict[str, Any]:
    """What a document says of captured files. Raises FolderError."""
    try:
        return captured_tensors.described(files)
    except captured_tensors.CapturedError as error:
        raise FolderError(str(error), code="captured") from error


def decoded(name: str, content: bytes) -> str:
    """A file's text. Raises FolderError."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FolderError(f"{name} is not UTF-8: save it as UTF-8", code="encoding") from error


def document(
    files: Mapping[str, str],
    *,
    captured: Mapping[str, Any] | None = None,
    baseline: str | None = None,
) -> dict[str, Any]:
    """The benchmark document of a folder's files, ready to be sealed. Raises FolderError.

    `captured` describes its files of captured tensors.

    `baseline` replaces the one that the description names, such as by the fastest that fits.
    """
    check_files(files)
    given = _described(files)
    if baseline is not None:
        given["baseline"] = baseline
    what, preset = folder_definitions.definition(given), folder_definitions.preset(given)
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
        "workloads": [
            asdict(load) | ({"captured": each["captured"]} if "captured" in each else {})
            for load, each in zip(preset.workloads, given["workloads"], strict=True)
        ],
        "tolerance": asdict(what.tolerances[preset.dtype]),
        "operator_tolerance": asdict(what.operator_tolerances[preset.dtype]),
        "arithmetic": tolerances.arithmetic(preset.dtype),
        "baseline": asdict(_baseline(given, files)),
        "hardware": {"device": preset.device, "name": preset.hardware},
        "calibration": None,
        "target": preset.target,
        "confidence": preset.confidence,
        "protocol": {
            **asdict(preset.protocol),
            "allowed_reach": list(preset.protocol.allowed_reach),
        },
    }
    if "traffic" in given:
        made["traffic"] = given["traffic"]
    if captured:
        made["captured"] = dict(captured)
    folder_definitions.check_tensors(what, preset)
    try:
        captured_tensors.check(made)
    except captured_tensors.CapturedError as error:
        raise FolderError(f"{DESCRIPTION}: {error}", code="captured") from error
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
        require_part(name)
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
    what = folder_definitions.definition(described)
    module = ModuleType(f"kernels.{what.operator}.op")
    module.__file__ = str(folder / "op.py")
    specs = (*what.state, *what.inputs, *what.outputs)

    def bytes_moved(axes: Mapping[str, int], dtype: str) -> int:
        return sum(folder_definitions.nbytes(spec, axes, dtype) for spec in specs)

    def flops(axes: Mapping[str, int]) -> int:
        return sum(
            math.prod(axes[factor] if isinstance(factor, str) else factor for factor in product)
            for product in described["flops"]
        )

    module.__dict__.update(
        DEFINITION=what, PRESETS={"folder": folder_definitions.preset(described)}
    )
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
