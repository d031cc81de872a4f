"""Store solutions: one file each, Python source or CUDA with its launcher in Python."""

import ast
import re

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark, Solution
from benchmarks.records.canonical import digest_of_bytes
from kernels import catalogue
from kernels.launchers import launcher_of

LARGEST_SOURCE_BYTES = 512 * 1024
FILENAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}\.(py|cu)")


def submit(*, name: str, operator: str, filename: str, source: str) -> Solution:
    """Store a solution; the same source under the same name is the same row.

    The source is parsed here and never executed. Raises BenchmarkError for an invalid one.
    """
    name = name.strip()
    if not name or len(name) > 120 or not name.isprintable():
        raise BenchmarkError(
            "Enter a solution name of 1 to 120 printable characters.", code="solution.name"
        )
    own = Benchmark.objects.filter(operator=operator)
    if operator not in catalogue.operators() and not own.exists():
        known = ", ".join(catalogue.operators())
        raise BenchmarkError(
            f"Unknown operator {operator}. Choose one of: {known}.", code="solution.operator"
        )
    if not FILENAME.fullmatch(filename):
        raise BenchmarkError(
            "Submit one .py or .cu file with a name such as triton_fused.py.",
            code="solution.filename",
        )
    solution, _ = Solution.objects.get_or_create(
        operator=operator,
        name=name,
        digest=digest_of_bytes(_validated(source, filename)),
        defaults={"filename": filename, "source": source},
    )
    return solution


def from_catalogue(*, operator: str, name: str) -> Solution:
    """Store a candidate of the catalogue as it is on this machine."""
    try:
        known = catalogue.candidates(operator)
    except LookupError as error:
        raise BenchmarkError(f"The catalogue has {error}.", code="solution.operator") from error
    if name not in known:
        names = ", ".join(known) or "none"
        raise BenchmarkError(
            f"{operator} has no candidate {name}. Its candidates: {names}.",
            code="solution.candidate",
        )
    file = known[name]
    with file.open(encoding="utf-8", newline="") as opened:
        source = opened.read()
    return submit(name=name, operator=operator, filename=file.name, source=source)


def _validated(source: str, filename: str) -> bytes:
    """The source as UTF-8, once it parses."""
    try:
        content = source.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BenchmarkError("The source is not valid UTF-8.", code="solution.encoding") from error
    if not content.strip():
        raise BenchmarkError("The source is empty.", code="solution.empty")
    if len(content) > LARGEST_SOURCE_BYTES:
        raise BenchmarkError(
            f"The source is larger than the limit of {LARGEST_SOURCE_BYTES // 1024} KiB.",
            code="solution.too_large",
        )
    if b"\0" in content:
        raise BenchmarkError(
            "The source contains a NUL character. Submit plain text.", code="solution.encoding"
        )
    python = launcher_of(source) if filename.endswith(".cu") else source
    if python is None:
        raise BenchmarkError(
            "The .cu file must begin with its Python launcher: /* python … */ with prepare and "
            "run.",
            code="solution.launcher",
        )
    try:
        module = ast.parse(python)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        raise BenchmarkError(
            f"Python syntax error{where}: {error.msg}.", code="solution.syntax"
        ) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise BenchmarkError("The source is nested too deeply.", code="solution.syntax") from error
    if "run" not in _names_bound(module):
        raise BenchmarkError(
            "The source defines no function run(prepared, inputs, out), which the referee calls.",
            code="solution.no_run",
        )
    return content


def _names_bound(module: ast.Module) -> set[str]:
    """Every name that the source defines, assigns or imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            # A star may import it.
            names.add("run" if node.name == "*" else node.asname or node.name)
    return names
