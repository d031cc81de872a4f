"""One run at a time on a device of this machine."""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from benchmarks.limits import limits


class DeviceBusy(Exception):
    """Another run is on the device."""


def device_of(hardware: dict[str, str | None]) -> str:
    """The device that a benchmark's hardware means here: "cpu", or "cuda-" and which."""
    if hardware["device"] != "cuda":
        return "cpu"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    return f"cuda-{visible or '0'}"


@contextlib.contextmanager
def held(device: str) -> Iterator[int]:
    """Have the device for oneself; the lock's file descriptor. DeviceBusy after the wait.

    The measuring process is handed the descriptor, so the kernel frees the device only when
    the worker and everything it started are gone: a killed worker's leftovers never share a
    device with the next attempt. Workers on one machine must share `settings.TWOFOLD_HOME`.
    """
    folder = Path(settings.TWOFOLD_HOME) / "devices"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", device)
    with open(folder / f"{name}.lock", "ab") as lock:
        deadline = time.monotonic() + limits().device_wait_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise DeviceBusy(f"another run is on {device}") from None
                time.sleep(0.1)
        yield lock.fileno()
