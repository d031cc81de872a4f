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

# Where NVIDIA's kernel module tells its GPUs, one folder each, named by its place on the bus.
_GPUS = Path("/proc/driver/nvidia/gpus")


class DeviceBusy(Exception):
    """Another run is on the device."""


def device_of(hardware: dict[str, str | None]) -> str:
    """The device that a benchmark's hardware means here: "cpu", or "cuda-" and which.

    A GPU is named by its UUID where the driver tells it, so that workers that name one by index
    and by UUID wait for each other; else as CUDA_VISIBLE_DEVICES has it.
    """
    if hardware["device"] != "cuda":
        return "cpu"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip() or "0"
    return f"cuda-{_uuid(visible) or visible}"


def _uuid(visible: str) -> str | None:
    """The UUID of the GPU of this index, in the order of the bus, or of this beginning of one."""
    known = [_uuid_told(file) for file in sorted(_GPUS.glob("*/information"))]
    if visible.isdecimal():
        return known[int(visible)] if int(visible) < len(known) else None
    return next((uuid for uuid in known if uuid is not None and uuid.startswith(visible)), None)


def _uuid_told(file: Path) -> str | None:
    told = re.search(r"^GPU UUID:\s*(GPU-[0-9a-f-]+)$", file.read_text(), re.MULTILINE)
    # The driver shows question marks for a GPU that nothing has used yet.
    return told and told[1]


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
