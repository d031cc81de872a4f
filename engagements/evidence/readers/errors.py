"""The error of all readers."""

from __future__ import annotations


class EvidenceError(Exception):
    """An evidence file cannot be read.

    `message` is one line: the problem, its remedy, and the place in the file. `code` is stable,
    as in "evidence.gzip_truncated".
    """

    def __init__(self, what: str, *, code: str, where: str = "") -> None:
        line = f"{what} ({where})" if where else what
        self.message = " ".join(line.split())
        self.code = code
        super().__init__(self.message)
