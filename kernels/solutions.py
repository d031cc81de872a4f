"""Load Solutions: a baseline by name, a candidate from a file, an operator's Program.

Torch is imported only when something is loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from kernels import catalogue, languages
from kernels.definition import NotAvailable
from kernels.launchers import launcher_of

if TYPE_CHECKING:
    from torch import Tensor

# A Python module; or CUDA source with its Python launcher in the first comment.
SUFFIXES = (".py", ".cu")

Prepare = Callable[["Mapping[str, Tensor]", Mapping[str, int]], Any]
Run = Callable[[Any, "Mapping[str, Tensor]", "Mapping[str, Tensor]"], None]
# gradients(state, inputs, out, grads, axes) -> gradient by name of a state or input tensor
Gradients = Callable[..., "Mapping[str, Tensor]"]


class SolutionError(RuntimeError):
    """A file or name that is not a Solution; the text says what to change.

    `code` is "solution." and one of: baseline, file, reference, candidate, run, prepare, launcher,
    syntax, encoding.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Solution:
    """One implementation of an operator.

    `prepare(state, axes)` is called once a layer, untimed; it may copy the state to another layout
    but not write to it. `run(prepared, inputs, out)` is timed: it queues one call and writes every
    element of every output. `gradients(state, inputs, out, grads, axes)` is the optional backward
    pass: it takes the gradient of each output and returns those of states and inputs by name.
    """

    name: str
    prepare: Prepare
    run: Run
    gradients: Gradients | None = None


def baseline(operator: str, name: str) -> Solution:
    """An off-the-shelf Solution. NotAvailable when its library cannot run here."""
    known = importlib.import_module(
        f"kernels.{catalogue.require_operator(operator)}.baselines"
    ).BASELINES
    if name not in known:
        raise SolutionError(
            f"{operator} has no baseline '{name}'; it has {', '.join(sorted(known))}",
            code="solution.baseline",
        )
    solution: Solution = known[name]()
    return solution


def named(operator: str, name: str) -> Solution:
    """The operator's baseline of this name, else its candidate."""
    if name in catalogue.baselines(operator):
        return baseline(operator, name)
    return candidate(f"{operator}/{name}")


def resolve(reference: str | Path) -> Path:
    """Find the file of a path or an 'operator/name'. SolutionError if there is none."""
    path = Path(reference)
    if path.suffix in SUFFIXES:
        if not path.is_file():
            raise SolutionError(f"no such candidate file: {path}", code="solution.file")
        return path
    operator, _, name = str(reference).partition("/")
    if operator not in catalogue.operators():
        raise SolutionError(
            f"'{reference}' is neither a .py or .cu file nor operator/name; "
            f"operators: {', '.join(catalogue.operators())}",
            code="solution.reference",
        )
    known = catalogue.candidates(operator)
    if name not in known:
        raise SolutionError(
            f"{operator} has no candidate '{name}'; it has {', '.join(sorted(known))}",
            code="solution.candidate",
        )
    return known[name]


def candidate(reference: str | Path) -> Solution:
    """A Solution from a file: a module with run(prepared, inputs, out) and prepare(state, axes).

    Without `prepare`, `run` gets the state itself. SolutionError if the file is not Python or has
    no `run`. NotAvailable if the file raises it, or without its language's package.
    """
    path = resolve(reference)
    try:
        module = module_of(path)
    except ModuleNotFoundError as error:
        language = languages.missing(error.name or "")
        if language is None:
            raise
        raise NotAvailable(
            f"{path.name} needs {language.title}: pip install {language.install}"
        ) from error
    run = getattr(module, "run", None)
    if not callable(run):
        raise SolutionError(
            f"{path.name} has no function run(prepared, inputs, out)", code="solution.run"
        )
    prepare = getattr(module, "prepare", None) or _state_itself
    if not callable(prepare):
        raise SolutionError(
            f"{path.name}: define prepare as a function prepare(state, axes)",
            code="solution.prepare",
        )
    gradients = getattr(module, "gradients", None)
    return Solution(name=path.stem, prepare=prepare, run=run, gradients=gradients)


def program(operator: str) -> ModuleType:
    """The module with the operator's end-to-end `Step`."""
    return importlib.import_module(f"kernels.{catalogue.require_operator(operator)}.program")


def reference(operator: str) -> ModuleType:
    """The module with `reference` and `reference_step`, in higher precision."""
    return importlib.import_module(f"kernels.{catalogue.require_operator(operator)}.reference")


def _state_itself(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    return state


class _CudaLoader(SourceFileLoader):
    """Loads the launcher of a `.cu` file as a module."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the launcher with the file's line numbers. SolutionError without a launcher."""
        launcher = launcher_of(Path(self.path).read_text())
        if launcher is None:
            raise SolutionError(
                f"{Path(self.path).name} does not begin with its launcher: "
                "/* python ... */ with prepare and run (kernels/CANDIDATES.md)",
                code="solution.launcher",
            )
        return compile(launcher, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Run the launcher with the file's text in SOURCE."""
        module.__dict__["SOURCE"] = Path(self.path).read_text()
        super().exec_module(module)


def module_of(path: Path) -> ModuleType:
    """Run a candidate's file, or a `.cu` file's launcher, as a module named after it.

    SolutionError, with the line, if it is not Python or not UTF-8.
    """
    name = f"solution_{path.stem}"
    loader = _CudaLoader(name, str(path)) if path.suffix == ".cu" else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise SolutionError(f"{path} cannot be read as Python", code="solution.syntax")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and Triton look up the module by name while it runs.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        line = f" line {error.lineno}" if error.lineno else ""
        raise SolutionError(f"{path.name}{line}: {error.msg}", code="solution.syntax") from error
    except UnicodeDecodeError as error:
        del sys.modules[name]
        raise SolutionError(
            f"{path.name} is not UTF-8: {error.reason}", code="solution.encoding"
        ) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module
