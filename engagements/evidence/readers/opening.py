"""Open an evidence file: first bytes, decompressed content, path on disk."""

from __future__ import annotations

import codecs
import contextlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from isal import igzip, isal_zlib

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError

Source: TypeAlias = Path | str | BinaryIO
# Called with the share read, 0 to 1.
Progress: TypeAlias = Callable[[float], None]

# The type stub declares the error as an instance.
_BROKEN: tuple[Any, ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error)
GZIP = b"\x1f\x8b"
# Byte order marks, as written by PowerShell and by "Unicode text" exports.
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HEAD_BYTES = 64 * limits.KIB


class Opened:
    """An evidence file.

    `read` returns its content, decompressed, and converted from UTF-16 to UTF-8.
    """

    def __init__(self, raw: BinaryIO, *, name: str, progress: Progress | None = None) -> None:
        self.name = name
        self.raw = raw
        self.size_bytes = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        self.is_gzip = raw.read(2) == GZIP
        raw.seek(0)
        self._content: Any = igzip.GzipFile(fileobj=raw) if self.is_gzip else raw
        self._taken = 0
        self._progress = progress
        self._wide: codecs.IncrementalDecoder | None = None
        self.head = self._bytes(HEAD_BYTES)
        self._unread = self.head

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes of the content; empty at its end."""
        if self._unread:
            taken, self._unread = self._unread[:size], self._unread[size:]
            return taken
        block = self._bytes(size)
        if self._progress is not None and self.size_bytes:
            self._progress(min(1.0, self.raw.tell() / self.size_bytes))
        return block

    def _bytes(self, size: int) -> bytes:
        """Read more of the content; empty only at its end."""
        is_first = not self._taken
        block = self._decompressed(size)
        if is_first and block.startswith(_UTF_16):
            self._wide = codecs.getincrementaldecoder("utf-16")("replace")
        if self._wide is None:
            return block
        # A block may hold only a part of a character.
        while not (text := self._wide.decode(block, final=not block)) and block:
            block = self._decompressed(size)
        return text.encode("utf-8", "replace")

    def _decompressed(self, size: int) -> bytes:
        try:
            block = self._content.read(size)
        except EOFError as error:
            raise EvidenceError(
                "The gzip file is truncated; upload it again",
                code="evidence.gzip_truncated",
                where=self._place(),
            ) from error
        except _BROKEN as error:
            raise EvidenceError(
                f"Invalid gzip data: {error}", code="evidence.gzip_invalid", where=self._place()
            ) from error
        except OSError as error:
            raise EvidenceError(
                f"The file cannot be read: {error}", code="evidence.file_unreadable"
            ) from error
        self._taken += len(block)
        if self._taken > limits.DECOMPRESSED_BYTES:
            raise EvidenceError(
                f"The file decompresses to more than {limits.DECOMPRESSED_BYTES:,} bytes; profile "
                "fewer steps",
                code="evidence.file_too_large",
            )
        return block

    def _place(self) -> str:
        return f"after {self._taken:,} decompressed bytes"

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Provide the content as a file with a path, a temporary copy if necessary."""
        path = getattr(self.raw, "name", None)
        if not self.is_gzip and isinstance(path, str) and os.path.isfile(path):
            yield Path(path)
            return
        with tempfile.NamedTemporaryFile(prefix="twofold-evidence-") as copy:
            try:
                while block := self.read(limits.BLOCK_BYTES):
                    copy.write(block)
                copy.flush()
            except OSError as error:
                raise EvidenceError(
                    "The decompressed file exceeds the disk limit; profile fewer steps",
                    code="evidence.disk_limit",
                    where=self._place(),
                ) from error
            yield Path(copy.name)


@contextmanager
def opened(source: Source, *, name: str, progress: Progress | None = None) -> Iterator[Opened]:
    """Open a path, or wrap a stream of bytes, which stays open. EvidenceError on failure."""
    with contextlib.ExitStack() as stack:
        if isinstance(source, str | Path):
            try:
                raw: BinaryIO = stack.enter_context(open(source, "rb"))
            except OSError as error:
                raise EvidenceError(
                    f"The file cannot be opened: {error.strerror}", code="evidence.file_unreadable"
                ) from error
        elif source.seekable():
            raw = source
        else:
            raw = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(source, raw)
        yield Opened(raw, name=name, progress=progress)
