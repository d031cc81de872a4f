"""Load an operator's code by name, and compare it with the sealed benchmark.

Operators live in `kernels/<operator>/`, in installed packages that name them (`kernels.installed`),
and in the folders of TWOFOLD_OPERATORS (separated like PATH): a customer's own, or those of a test.
A benchmark that contains its files is unpacked into such a folder; it has a description
(benchmark.toml) instead of `op.py`, and a file for each baseline.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import kernels

# Not from `documents`: JSON Schema is slow to import, and a side does not need it.
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import folders
from benchmarks.records.canonical import canonical, digest_of_bytes
from kernels import installed
from kernels.definition import Slot, slots_of

SEARCH_PATH_VARIABLE = "TWOFOLD_OPERATORS"


def extend_search_path() -> None:
    """Also find `kernels.<operator>` in installed packages and in TWOFOLD_OPERATORS."""
    installed.folders()
    for folder in os.environ.get(SEARCH_PATH_VARIABLE, "").split(os.pathsep):
        if folder and folder not in kernels.__path__:
            kernels.__path__.append(folder)


def part(operator: str, name: str) -> ModuleType:
    """The module `kernels.<operator>.<name>`. Raises SetupError."""
    extend_search_path()
    folder = _described_folder(operator) if name == "op" else None
    if folder is not None:
        from benchmarks.records import benchmark_folders

        return benchmark_folders.op(benchmark_folders.read(folder), folder)
    dotted = f"kernels.{operator}.{name}"
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError as error:
        if error.name and dotted.startswith(error.name):
            raise SetupError(f"module {dotted} not found") from error
        raise


@contextmanager
def unpacked(document: Mapping[str, Any]) -> Iterator[None]:
    """Write a benchmark's own files where its run finds them as `kernels.<operator>`."""
    if "files" not in document:
        yield
        return
    from benchmarks.records import benchmark_folders

    # Names of files become paths.
    benchmark_folders.check_files(document["files"])
    operator = document["operator"]
    extend_search_path()
    with folders.temporary(prefix="benchmark-") as place:
        for name, text in document["files"].items():
            file = place / operator / name
            file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        place.chmod(0o755)
        before = os.environ.get(SEARCH_PATH_VARIABLE)
        paths = [str(place), *filter(None, [before])]
        os.environ[SEARCH_PATH_VARIABLE] = os.pathsep.join(paths)
        kernels.__path__.append(str(place))
        try:
            yield
        finally:
            kernels.__path__.remove(str(place))
            if before is None:
                del os.environ[SEARCH_PATH_VARIABLE]
            else:
                os.environ[SEARCH_PATH_VARIABLE] = before
            own = f"kernels.{operator}"
            for name in [each for each in sys.modules if f"{each}.".startswith(f"{own}.")]:
                del sys.modules[name]


def _described_folder(operator: str) -> Path | None:
    """The folder of `kernels.<operator>` if it is a benchmark folder."""
    extend_search_path()
    for place in kernels.__path__:
        folder = Path(place) / operator
        if (folder / "op.py").is_file():
            return None
        if (folder / "benchmark.toml").is_file():
            return folder
    return None


def source_digests(operator: str, names: list[str]) -> dict[str, str]:
    """The digest of each named file in an operator's folder. Raises SetupError."""
    folder = Path(str(part(operator, "op").__file__)).parent
    digests = {}
    for name in names:
        path = folder / name
        if path.parent not in (folder, folder / "baselines") or not path.is_file():
            raise SetupError(f"operator {operator} has no file {name}")
        digests[name] = digest_of_bytes(path.read_bytes())
    return digests


def check_sealed(document: dict[str, Any]) -> None:
    """Raise SetupError unless the operator's code here is the sealed one."""
    operator = document["operator"]
    here = part(operator, "op").DEFINITION.as_data()
    if "chain" not in document["definition"]:
        # Sealed before calls were chained, and measured as sealed.
        here.pop("chain", None)
    if canonical(_plain(here)) != canonical(document["definition"]):
        raise SetupError(f"the Definition of {operator} differs from the sealed one")
    sealed = document["sources"]
    for name, found in source_digests(operator, sorted(sealed)).items():
        if found != sealed[name]:
            raise SetupError(f"{operator}/{name} differs from the sealed version: {found}")


def slots(operator: str, axes: Mapping[str, int]) -> tuple[Slot, ...]:
    """The operator's calls in one step, by shape: once a layer unless op.py says otherwise."""
    return slots_of(part(operator, "op"), axes)


def costs(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The operator's calls in a step of each workload, and what one costs.

    `flops` and `bytes` (the least traffic) are the mean of a step's calls; None where the operator
    defines neither.
    """
    return [_cost(document, workload) for workload in document["workloads"]]


def _cost(document: dict[str, Any], workload: dict[str, Any]) -> dict[str, Any]:
    op = part(document["operator"], "op")
    found = slots(document["operator"], workload["axes"])
    calls = sum(slot.calls for slot in found)
    known = hasattr(op, "flops") and hasattr(op, "bytes_moved")
    flops = sum(slot.calls * op.flops(slot.axes) for slot in found) if known else None
    moved = (
        sum(slot.calls * op.bytes_moved(slot.axes, document["dtype"]) for slot in found)
        if known
        else None
    )
    return {
        "name": workload["name"],
        "operator_calls": calls,
        "slots": [{"axes": dict(slot.axes), "calls": slot.calls} for slot in found],
        "flops": None if flops is None else flops / calls,
        "bytes": None if moved is None else moved / calls,
    }


def baseline(operator: str, name: str) -> Any:
    """Load a baseline Solution. Raises SetupError for an unknown name, and NotAvailable."""
    folder = _described_folder(operator)
    if folder is not None:
        from kernels import solutions

        return solutions.candidate(folder / "baselines" / f"{name}.py")
    known = part(operator, "baselines").BASELINES
    if name not in known:
        raise SetupError(f"operator {operator} has no baseline {name!r}: {', '.join(known)}")
    return known[name]()


def _plain(value: Any) -> Any:
    """The value as JSON has it: tuples become lists."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
