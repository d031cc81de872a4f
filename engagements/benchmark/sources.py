"""A version's files for reading: highlighted source by line, and differences between versions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CudaLexer, PythonLexer, TextLexer, TOMLLexer

from engagements.benchmark.models import BenchmarkComment

# Longer files are shown without colours: highlighting takes a second for each 100 KB.
_LONGEST_HIGHLIGHTED = 100_000
_LEXERS = {".toml": TOMLLexer, ".cu": CudaLexer}
_ORDER = ("benchmark.toml", "program.py", "reference.py")


@dataclass(frozen=True)
class Line:
    """A line of source as HTML, with the comments on it."""

    number: int
    html: SafeString
    comments: Sequence[BenchmarkComment] = ()


@dataclass(frozen=True)
class SourceFile:
    """One file of a version; `change` compares it with another version."""

    path: str
    lines: Sequence[Line]
    comments: Sequence[BenchmarkComment] = ()
    change: str = ""


@dataclass(frozen=True)
class Difference:
    """The changed passages of one file: (kind, text) by line; kind is " ", "+", "-" or "@"."""

    path: str
    lines: Sequence[tuple[str, str]] = field(default_factory=list)


def source_files(
    files: Mapping[str, str], comments: Sequence[BenchmarkComment]
) -> list[SourceFile]:
    """Every file, the description first."""
    return [
        SourceFile(
            path=path,
            lines=list(_lines(path, files[path], [each for each in comments if each.path == path])),
            comments=[each for each in comments if each.path == path and each.line is None],
        )
        for path in sorted(files, key=_place)
    ]


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[Difference]:
    """The differences between two versions, by file."""
    found = []
    for path in sorted({*before, *after}, key=_place):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new:
            compared = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
            lines = [(line[:1], line[1:]) for line in list(compared)[2:]]
            found.append(Difference(path=path, lines=lines))
    return found


def _place(path: str) -> tuple[int, str]:
    return (_ORDER.index(path) if path in _ORDER else len(_ORDER), path)


def _lines(path: str, text: str, comments: Sequence[BenchmarkComment]) -> Iterator[Line]:
    for line in highlighted_lines(path, text):
        yield replace(line, comments=[each for each in comments if each.line == line.number])


def highlighted_lines(path: str, text: str) -> Iterator[Line]:
    """The lines of a file, highlighted by its suffix."""
    for number, html in enumerate(_highlighted(path, text), start=1):
        yield Line(number, html)


def _highlighted(path: str, text: str) -> list[SafeString]:
    """The lines as HTML; Pygments escapes what it does not mark up."""
    chosen: Any = _LEXERS.get(PurePosixPath(path).suffix, PythonLexer)
    if len(text) > _LONGEST_HIGHLIGHTED:
        chosen = TextLexer
    formatter: Any = HtmlFormatter(nowrap=True, classprefix="src-")
    # Tokens of several lines are closed and opened again at each line's end.
    made = highlight(text, chosen(stripnl=False, ensurenl=False), formatter)
    return [mark_safe(line) for line in lines_of(made)]  # noqa: S308


def lines_of(text: str) -> list[str]:
    """The lines as editors count them: other breaks than line feeds do not end one."""
    return text.removesuffix("\n").split("\n")
