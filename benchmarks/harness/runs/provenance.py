"""Digests of the code behind a run: the referee's own, and what baseline and Program load."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kernels
from benchmarks.harness.sides import operators
from benchmarks.records.canonical import digest, digest_of_bytes

_ROOT = Path(__file__).resolve().parents[3]
_REFEREE = ("benchmarks/harness", "benchmarks/records", "benchmarks/verdict", "kernels")
# The modules of an operator that the referee and the baseline's side import.
_PARTS = ("op", "program", "reference", "baselines")


def capture(operator: str) -> dict[str, Any]:
    """The record's `provenance`. Raises SetupError for an unknown operator."""
    return {"referee": referee_digest(), "sources": sources(operator)}


def referee_digest() -> str:
    """One digest of the referee's sources: that of their digests by path."""
    files = [file for folder in _REFEREE for file in (_ROOT / folder).rglob("*.py")]
    # Operators are listed by `sources`; only the kernels' shared modules belong to the referee.
    own = [
        file for file in files if file.parent == _ROOT / "kernels" or "kernels" not in file.parts
    ]
    return digest({file.relative_to(_ROOT).as_posix(): _digest(file) for file in own})


def sources(operator: str) -> dict[str, str]:
    """Digests of the operator's modules and all of `kernels` that they import, by path."""
    folder = Path(str(operators.part(operator, "op").__file__)).parent
    waiting = [folder / f"{name}.py" for name in _PARTS]
    waiting += (folder / "baselines").glob("*.py")
    description = folder / "benchmark.toml"
    described = description.is_file()
    found = {_name(description, folder, operator): _digest(description)} if described else {}
    while waiting:
        file = waiting.pop()
        name = _name(file, folder, operator)
        if name in found or not file.is_file():
            continue
        found[name] = _digest(file)
        waiting += _imported(file, operator, folder)
    return dict(sorted(found.items()))


def _name(file: Path, folder: Path, operator: str) -> str:
    inside = file.relative_to(folder) if file.is_relative_to(folder) else None
    if inside is not None:
        return f"{operator}/{inside.as_posix()}"
    return file.relative_to(Path(kernels.__file__).parent).as_posix()


def _imported(file: Path, operator: str, folder: Path) -> Iterator[Path]:
    """The files of `kernels` that a module imports, inside functions too."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "kernels" and rest:
                yield from _files(rest, operator, folder)


def _files(dotted: str, operator: str, folder: Path) -> Iterator[Path]:
    own = dotted.partition(".")
    inside = own[0] == operator
    start = folder if inside else Path(kernels.__file__).parent
    path = start.joinpath(*(own[2] if inside else dotted).split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            yield file


def _digest(file: Path) -> str:
    return digest_of_bytes(file.read_bytes())
