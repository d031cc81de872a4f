"""Load an operator's code by name, and compare it with the sealed benchmark.

Operators live in `kernels/<operator>/`, and in the folders of TWOFOLD_OPERATORS (separated like
PATH): a customer's own, or those of a test.
"""

import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import kernels

# Not from `documents`: JSON Schema is slow to import, and a side does not need it.
from benchmarks.harness.failures import SetupError
from benchmarks.records.canonical import canonical, digest_of_bytes

SEARCH_PATH_VARIABLE = "TWOFOLD_OPERATORS"


def extend_search_path() -> None:
    """Also find `kernels.<operator>` in the folders of TWOFOLD_OPERATORS."""
    for folder in os.environ.get(SEARCH_PATH_VARIABLE, "").split(os.pathsep):
        if folder and folder not in kernels.__path__:
            kernels.__path__.append(folder)


def part(operator: str, name: str) -> ModuleType:
    """The module `kernels.<operator>.<name>`. Raises SetupError."""
    extend_search_path()
    dotted = f"kernels.{operator}.{name}"
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError as error:
        if error.name and dotted.startswith(error.name):
            raise SetupError(f"module {dotted} not found") from error
        raise


def source_digests(operator: str, names: list[str]) -> dict[str, str]:
    """The digest of each named file in an operator's folder. Raises SetupError."""
    folder = Path(str(part(operator, "op").__file__)).parent
    digests = {}
    for name in names:
        path = folder / name
        if path.parent != folder or not path.is_file():
            raise SetupError(f"operator {operator} has no file {name}")
        digests[name] = digest_of_bytes(path.read_bytes())
    return digests


def check_sealed(document: dict[str, Any]) -> None:
    """Raise SetupError unless the operator's code here is the sealed one."""
    operator = document["operator"]
    here = part(operator, "op").DEFINITION.as_data()
    if canonical(_plain(here)) != canonical(document["definition"]):
        raise SetupError(f"the Definition of {operator} differs from the sealed one")
    sealed = document["sources"]
    for name, found in source_digests(operator, sorted(sealed)).items():
        if found != sealed[name]:
            raise SetupError(f"{operator}/{name} differs from the sealed version: {found}")


def costs(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The operator's FLOPs and least bytes moved, by workload; None where it defines neither.

    Its Program calls it once per layer, or once where the axes have no `layers`.
    """
    op = part(document["operator"], "op")
    if not (hasattr(op, "flops") and hasattr(op, "bytes_moved")):
        return None
    return [
        {
            "name": workload["name"],
            "operator_calls": workload["axes"].get("layers", 1),
            "flops": op.flops(workload["axes"]),
            "bytes": op.bytes_moved(workload["axes"], document["dtype"]),
        }
        for workload in document["workloads"]
    ]


def baseline(operator: str, name: str) -> Any:
    """Load a baseline Solution. Raises SetupError for an unknown name, and NotAvailable."""
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
