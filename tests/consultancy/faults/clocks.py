"""Set the clock of a running process: its offset in seconds is read from a file."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import time_machine

_EVERY_S = 0.1


def follow(file: Path) -> None:
    """Keep this process's clock, and those of its children, at the offset in `file`."""
    os.register_at_fork(after_in_child=lambda: _start(file))
    _start(file)


def _start(file: Path) -> None:
    threading.Thread(target=_follow, args=[file], daemon=True).start()


def _follow(file: Path) -> None:
    pause, travelled, offset_s = threading.Event(), None, 0
    while not pause.wait(_EVERY_S):
        wanted_s = int(file.read_text())
        if wanted_s == offset_s:
            continue
        if travelled is not None:
            travelled.stop()
        offset_s = wanted_s
        travelled = time_machine.travel(_now_s() + offset_s) if offset_s else None
        if travelled is not None:
            travelled.start()


def _now_s() -> float:
    """The machine's own time, as no travel is under way."""
    return time.time()
