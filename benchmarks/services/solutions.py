"""Taking in solutions: one file each, Python source or CUDA with its launcher in Python."""

import ast
import re

from benchmarks.errors import Refused
from benchmarks.harness.records.canonical import digest_of_bytes
from benchmarks.models import Solution
from kernels import catalogue
from kernels.launchers import launcher_of

LARGEST_SOURCE_BYTES = 512 * 1024
FILENAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}\.(py|cu)")


def submit(*, name: str, operator: str, filename: str, source: str) -> Solution:
    """Store a solution; the same source under the same name is the same row.

    Refused when the file cannot be a solution. It is parsed here and never run.
    """
    name = name.strip()
    if not name or len(name) > 120 or not name.isprintable():
        raise Refused("Give the solution a name of at most 120 printable characters.")
    if operator not in catalogue.operators():
        known = ", ".join(catalogue.operators())
        raise Refused(f"There is no operator called {operator}; the catalogue has {known}.")
    if not FILENAME.fullmatch(filename):
        raise Refused(
            "A solution is one .py or .cu file with a plain name, such as triton_fused.py."
        )
    solution, _ = Solution.objects.get_or_create(
        operator=operator,
        name=name,
        digest=digest_of_bytes(_checked(source, filename)),
        defaults={"filename": filename, "source": source},
    )
    return solution


def from_catalogue(*, operator: str, name: str) -> Solution:
    """Store a kernel of the catalogue as it is on this machine now."""
    try:
        known = catalogue.candidates(operator)
    except LookupError as error:
        raise Refused(f"The catalogue has {error}.") from error
    if name not in known:
        names = ", ".join(known) or "none yet"
        raise Refused(f"{operator} has no candidate called {name}; it has {names}.")
    file = known[name]
    with file.open(encoding="utf-8", newline="") as opened:
        source = opened.read()
    return submit(name=name, operator=operator, filename=file.name, source=source)


def _checked(source: str, filename: str) -> bytes:
    try:
        content = source.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("The source is not text that can be written as UTF-8.") from error
    if not content.strip():
        raise Refused("The source is empty.")
    if len(content) > LARGEST_SOURCE_BYTES:
        raise Refused(f"The source is larger than {LARGEST_SOURCE_BYTES // 1024} KiB.")
    if b"\0" in content:
        raise Refused("The source holds a NUL character; it must be plain text.")
    python = launcher_of(source) if filename.endswith(".cu") else source
    if python is None:
        raise Refused(
            "The .cu file does not begin with its launcher: /* python … */ with prepare and run."
        )
    try:
        ast.parse(python)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        raise Refused(f"The source is not valid Python: {error.msg}{where}.") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Refused("The source cannot be parsed: it is nested too deeply.") from error
    return content
