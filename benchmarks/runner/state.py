"""A runner's state on disk: the attempt in progress, and each record until it is acknowledged.

A nonce is measured once: an attempt that was begun and has no record is never begun again.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

ATTEMPT: Final = "attempt.json"
RECORD: Final = "record.json"


class StateInUse(Exception):
    """Another runner uses this folder."""


@dataclass(frozen=True)
class Kept:
    """An attempt that was begun: its id at the site, and its record once it is measured."""

    attempt: int
    record: bytes | None


class State:
    """The folder of one runner, locked while it runs. Raises StateInUse."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self._lock: IO[bytes] = open(folder / "lock", "ab")  # noqa: SIM115  until the process ends
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateInUse(
                f"Another runner uses {folder}. Give each runner a folder of its own by --state."
            ) from None

    def begin(self, attempt: int) -> None:
        """Note on disk that an attempt begins."""
        self._write(ATTEMPT, json.dumps({"attempt": attempt}).encode())

    def keep(self, record: bytes) -> None:
        """Keep the record of the attempt that was begun."""
        self._write(RECORD, record)

    def kept(self) -> Kept | None:
        """The attempt that was begun and not ended."""
        try:
            attempt = int(json.loads((self.folder / ATTEMPT).read_bytes())["attempt"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        try:
            return Kept(attempt, (self.folder / RECORD).read_bytes())
        except FileNotFoundError:
            return Kept(attempt, None)

    def end(self) -> None:
        """Forget the attempt and its record."""
        # The record first: alone it would belong to no attempt.
        for name in (RECORD, ATTEMPT):
            with suppress(FileNotFoundError):
                (self.folder / name).unlink()

    def set_aside(self) -> Path:
        """Forget the attempt, and keep its record under another name for people to look at."""
        kept = self.kept()
        aside = self.folder / f"refused-{kept.attempt if kept else 0}.json"
        (self.folder / RECORD).replace(aside)
        self.end()
        return aside

    def _write(self, name: str, content: bytes) -> None:
        """Write a file that is whole after a power cut."""
        part = self.folder / f"{name}.part"
        with part.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(self.folder / name)
        handle = os.open(self.folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
