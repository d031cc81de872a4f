"""One run at a time on a device of this machine."""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

# NVIDIA's kernel module lists its GPUs here, one folder each, named by bus address.
_GPUS = Path("/proc/driver/nvidia/gpus")


class DeviceBusy(Exception):
    """Another run is using the device."""


def devices_of(hardware: dict[str, str | None], ranks: int = 1) -> tuple[str, ...]:
    """The lock names of this worker's devices: "cpu", or "cuda-" and the GPU of each rank.

    A GPU is named by its UUID where the driver lists it, so that workers that select it by index
    and by UUID share a lock; otherwise as in CUDA_VISIBLE_DEVICES.
    """
    if hardware["device"] != "cuda":
        return ("cpu",)
    named = [each.strip() for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    visible = [named[rank] if rank < len(named) else "" for rank in range(ranks)]
    chosen = [each or str(rank) for rank, each in enumerate(visible)]
    return tuple(f"cuda-{_uuid(each) or each}" for each in chosen)


def _uuid(visible: str) -> str | None:
    """The UUID of a GPU, selected by its index in bus order or by a prefix of its UUID."""
    known = [_uuid_in(file) for file in sorted(_GPUS.glob("*/information"))]
    if visible.isdecimal():
        return known[int(visible)] if int(visible) < len(known) else None
    return next((uuid for uuid in known if uuid is not None and uuid.startswith(visible)), None)


def _uuid_in(file: Path) -> str | None:
    found = re.search(r"^GPU UUID:\s*(GPU-[0-9a-f-]+)$", file.read_text(), re.MULTILINE)
    # The driver shows question marks for a GPU that has not been used since boot.
    return found and found[1]


@contextlib.contextmanager
def locked(*devices: str, home: Path, wait_s: float) -> Iterator[tuple[int, ...]]:
    """Lock all devices or none; yields the locks' file descriptors. Raises DeviceBusy after a wait.

    In one order everywhere, so that two runs never hold a part of each other's. The measuring
    process inherits the descriptors, so the kernel releases the locks only when the worker and all
    its descendants have ended. Workers on one machine must share `home`.
    """
    with contextlib.ExitStack() as stack:
        ordered = sorted(set(devices))
        yield tuple(stack.enter_context(_locked(each, home, wait_s)) for each in ordered)


@contextlib.contextmanager
def _locked(device: str, home: Path, wait_s: float) -> Iterator[int]:
    folder = home / "devices"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", device)
    with open(folder / f"{name}.lock", "ab") as lock:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise DeviceBusy(f"{device} is busy with another run") from None
                time.sleep(0.1)
        yield lock.fileno()
