"""Split a trace into blocks of whole events, without parsing it twice.

Events are in the array "traceEvents" of the top object, or in the top array itself. A block ends
where an event probably ends; decoding proves it, as the text from the start of an event to the cut
is a valid JSON array exactly when the cut is the end of an event. A cut inside a string or inside
arguments is not. Brackets are counted only when guessing fails, and for the last block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened

Decoded = TypeVar("Decoded")

_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_WHITE = b" \t\r\n"
_ENDS_HERE = re.compile(rb"\s*,")
_ENDS_AT_END = re.compile(rb"\s*(,|\Z)")
# Whole strings, so that brackets inside them do not match. Possessive: no backtracking.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_GUESSES = 2


class NotJson(Exception):
    """A block is not the content of a JSON array. The text names the error and its place."""


class Blocks(Generic[Decoded]):
    """Iterate over the events of a trace, decoded block by block.

    `decode` parses a JSON array of events or raises NotJson. `metadata` holds the other keys of the
    top object, complete once all events are read.
    """

    def __init__(self, opened: Opened, decode: Callable[[bytes], Decoded]) -> None:
        self._opened = opened
        self._decode = decode
        self._buffer = b""
        self._offset = 0
        self.metadata: dict[str, Any] = {}
        self.is_object = False

    def __iter__(self) -> Iterator[Decoded]:
        """Yield every block. EvidenceError when the trace is invalid or truncated."""
        self._find_events()
        at_end = False
        while not at_end:
            more = self._opened.read(limits.BLOCK_BYTES)
            at_end = not more
            self._buffer += more
            if not at_end:
                decoded = self._guessed()
                if decoded is not None:
                    yield decoded
                    continue
            counted = self._counted(at_end)
            if counted is not None:
                yield counted[0]
                if counted[1]:
                    return
        raise EvidenceError(
            "The trace is truncated; upload it again",
            code="evidence.trace_truncated",
            where=self._where(),
        )

    def _find_events(self) -> None:
        """Advance the buffer to the first event."""
        while not (start := self._buffer.lstrip(_WHITE + b"\xef\xbb\xbf")):
            if not (more := self._opened.read(limits.BLOCK_BYTES)):
                raise EvidenceError("The file is empty", code="evidence.file_empty")
            self._buffer = more
        if start[:1] == b"[":
            self._cut(len(self._buffer) - len(start) + 1)
            return
        if start[:1] != b"{":
            raise EvidenceError(
                "The file is not a JSON object or array",
                code="evidence.json_invalid",
                where="byte 0",
            )
        self.is_object = True
        seen = 0
        while True:
            for match in _KEY.finditer(self._buffer, seen):
                if self._is_top_key(match):
                    self._cut(match.end())
                    return
                seen = match.end()
            more = self._opened.read(limits.BLOCK_BYTES)
            if not more:
                raise EvidenceError(
                    "The JSON object has no array “traceEvents”", code="evidence.no_events"
                )
            if len(self._buffer) > limits.HEAD_BYTES:
                raise EvidenceError(
                    f"“traceEvents” does not start within the first {limits.HEAD_BYTES:,} bytes",
                    code="evidence.no_events",
                )
            self._buffer += more

    def _is_top_key(self, match: re.Match[bytes]) -> bool:
        """Return whether the text before, closed here, is an object, so that the key is its own."""
        head = self._buffer[: match.start()].lstrip(b"\xef\xbb\xbf")
        try:
            metadata = msgspec.json.decode(head + b'"traceEvents":0}')
        except (msgspec.DecodeError, ValueError, RecursionError):
            return False
        self.metadata.update(metadata)
        return True

    def _guessed(self) -> Decoded | None:
        """Decode up to a probable end of an event; None when it is not one."""
        end = len(self._buffer)
        for _ in range(_GUESSES):
            found = self._end_of_event_before(end)
            if found is None:
                return None
            end, next_start = found
            try:
                decoded = self._decode(b"".join((b"[", memoryview(self._buffer)[:end], b"]")))
            except NotJson:
                continue
            self._cut(next_start)
            return decoded
        return None

    def _end_of_event_before(self, end: int) -> tuple[int, int] | None:
        """Find the last "} , {"; return the positions after its "}" and of its "{"."""
        buffer, lowest = self._buffer, max(0, len(self._buffer) - limits.BLOCK_BYTES)
        while (brace := buffer.rfind(b"{", lowest, end)) > 0:
            end = brace
            before = buffer[max(0, brace - 64) : brace].rstrip(_WHITE)
            if before[-1:] != b",":
                continue
            closing = before[:-1].rstrip(_WHITE)
            if closing[-1:] == b"}":
                place = max(0, brace - 64) + len(closing)
                return place, brace
        return None

    def _counted(self, at_end: bool) -> tuple[Decoded, bool] | None:
        """Decode the whole events of the buffer by counting brackets; return them and whether all.

        None when more must be read first.
        """
        end, is_closed = self._end_by_brackets(at_end)
        if is_closed:
            decoded = self._decoded(end)
            self._cut(end + 1)
            self._read_tail()
            return decoded, True
        if at_end:
            # The format allows a bare array without its closing bracket.
            if not self.is_object and not self._buffer[end:].strip(_WHITE + b","):
                return self._decoded(end), True
            return None
        if end == 0:
            if len(self._buffer) > limits.EVENT_BYTES:
                raise EvidenceError(
                    f"An event is larger than {limits.EVENT_BYTES:,} bytes",
                    code="evidence.event_too_large",
                    where=self._where(),
                )
            return None
        decoded = self._decoded(end)
        following = _ENDS_HERE.match(self._buffer, end)
        self._cut(following.end() if following else end)
        return decoded, False

    def _end_by_brackets(self, at_end: bool) -> tuple[int, bool]:
        """Find the end of the last whole event followed by a comma, or of the array."""
        depth, end = 0, 0
        ends_here = _ENDS_AT_END if at_end else _ENDS_HERE
        for match in _TOKEN.finditer(self._buffer):
            token = match[0]
            if token in (b"{", b"["):
                depth += 1
            elif token in (b"}", b"]"):
                depth -= 1
                if depth < 0:
                    return match.start(), True
                if depth == 0 and ends_here.match(self._buffer, match.end()):
                    end = match.end()
        return end, False

    def _decoded(self, end: int) -> Decoded:
        content = self._buffer[:end].strip(_WHITE)
        try:
            return self._decode(b"[" + content + b"]")
        except NotJson as error:
            raise EvidenceError(
                f"Invalid JSON: {error}", code="evidence.json_invalid", where=self._where()
            ) from error

    def _read_tail(self) -> None:
        """Parse the rest of the JSON after the events as metadata."""
        while more := self._opened.read(limits.BLOCK_BYTES):
            self._buffer += more
            if len(self._buffer) > limits.HEAD_BYTES:
                raise EvidenceError(
                    "Too much data after the events",
                    code="evidence.json_invalid",
                    where=self._where(),
                )
        if not self.is_object:
            if self._buffer.strip(_WHITE):
                raise EvidenceError(
                    "Unexpected data after the array of events",
                    code="evidence.json_invalid",
                    where=self._where(),
                )
            return
        try:
            tail = msgspec.json.decode(b'{"traceEvents":0' + self._buffer)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise EvidenceError(
                f"Invalid JSON after the events: {error}",
                code="evidence.json_invalid",
                where=self._where(),
            ) from error
        self.metadata.update(tail)

    def _cut(self, end: int) -> None:
        self._buffer = self._buffer[end:]
        self._offset += end

    def _where(self) -> str:
        return f"after byte {self._offset:,}"
