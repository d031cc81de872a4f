"""The lines of a text file, none longer than anybody writes."""

from __future__ import annotations

from collections.abc import Iterator

from engagements.evidence import limits
from engagements.evidence.errors import EvidenceError
from engagements.evidence.opening import Opened

_WIDE = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_MARK = b"\xef\xbb\xbf"


def lines_of(opened: Opened) -> Iterator[bytes]:
    """Each line with its end, in UTF-8 and without a byte order mark.

    EvidenceError where one is longer than `limits.LINE_BYTES`. UTF-16 is what a redirect in
    PowerShell writes.
    """
    wide = next((name for mark, name in _WIDE if opened.head.startswith(mark)), None)
    blocks = _blocks(opened) if wide is None else iter([_narrow(opened, wide)])
    count, rest = 0, b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            count += 1
            yield (line.removeprefix(_MARK) if count == 1 else line) + b"\n"
        if len(rest) > limits.LINE_BYTES:
            raise EvidenceError(
                f"A line is longer than {limits.LINE_BYTES:,} bytes", where=f"line {count + 1:,}"
            )
    if rest:
        yield rest.removeprefix(_MARK) if count == 0 else rest


def _blocks(opened: Opened) -> Iterator[bytes]:
    while block := opened.read(limits.BLOCK_BYTES):
        yield block


def _narrow(opened: Opened, encoding: str) -> bytes:
    content = opened.whole(limits.WIDE_TEXT_BYTES)
    return content[2:].decode(encoding, "replace").encode("utf-8", "replace")
