"""The one error of every reader."""

from __future__ import annotations


class EvidenceError(Exception):
    """A file cannot be read. The text is one line: what is wrong, and where in the file."""

    def __init__(self, what: str, *, where: str = "") -> None:
        line = f"{what} ({where})" if where else what
        super().__init__(" ".join(line.split()))
