"""Lines of a text file, with a limit of length."""

from __future__ import annotations

from collections.abc import Iterator

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened

_MARK = b"\xef\xbb\xbf"


def lines_of(opened: Opened) -> Iterator[bytes]:
    """Yield each line with its line ending, without a byte order mark.

    EvidenceError for a line longer than `limits.LINE_BYTES`.
    """
    count, rest = 0, b""
    while block := opened.read(limits.BLOCK_BYTES):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            count += 1
            yield (line.removeprefix(_MARK) if count == 1 else line) + b"\n"
        if len(rest) > limits.LINE_BYTES:
            raise EvidenceError(
                f"A line is longer than {limits.LINE_BYTES:,} bytes",
                code="evidence.line_too_long",
                where=f"line {count + 1:,}",
            )
    if rest:
        yield rest.removeprefix(_MARK) if count == 0 else rest
