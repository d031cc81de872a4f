"""The Python launcher in the first comment of a `.cu` candidate. No torch here."""

from __future__ import annotations

import re

_LAUNCHER = re.compile(r"\A\s*/\*[ \t]*python[ \t]*\r?\n(?P<text>.*?)\*/", re.DOTALL)


def launcher_of(source: str) -> str | None:
    """The Python in a `.cu` file's first comment, at its line numbers; None without one."""
    found = _LAUNCHER.match(source)
    if found is None:
        return None
    return "\n" * source.count("\n", 0, found.start("text")) + found["text"]


def without_launcher(source: str) -> str:
    """The CUDA source without its launcher, at the same line numbers."""
    found = _LAUNCHER.match(source)
    if found is None:
        return source
    return "\n" * source.count("\n", 0, found.end()) + source[found.end() :]
