"""What keeps a side away from the referee, and an honest list of what does not yet."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from benchmarks.harness.arenas import Device
from benchmarks.harness.operators import SEARCH_PATH_VARIABLE

_PR_SET_DUMPABLE = 4
_PASSED_ON = (
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "TRITON_LIBCUDA_PATH",
    "TRITON_INTERPRET",
    SEARCH_PATH_VARIABLE,
)
_CODE = Path(__file__).resolve().parents[2]
_SHARE_OF_MEMORY = 0.8
# Importing torch alone maps gigabytes that it never touches.
_LEAST_ADDRESS_SPACE_BYTES = 8 << 30


def hide_referee() -> None:
    """Make this process's memory and environment unreadable to others of the same user."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the referee could not set itself non-dumpable")


def side_environment(*, scratch: Path, cache: Path, threads: int) -> dict[str, str]:
    """A side's whole environment: where torch and Triton find things, and nothing else.

    `cache` outlives the process for compiled kernels only, so that a replicate does not pay
    minutes of compiling for each of its workloads again.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = [str(_CODE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return environment | {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(folder for folder in own if folder)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
        "USER": "side",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "CUDA_CACHE_PATH": str(cache / "cuda"),
        "OMP_NUM_THREADS": str(threads),
    }


def address_space_bytes(device: Device) -> int | None:
    """A side's limit on address space; None on CUDA, which maps far more than it uses."""
    if device.kind == "cuda":
        return None
    return max(int(device.memory_bytes() * _SHARE_OF_MEMORY), _LEAST_ADDRESS_SPACE_BYTES)


def in_force(device: Device) -> dict[str, bool]:
    """Each protection, and whether this run had it: the record keeps the list."""
    return {
        "separate_processes": True,
        "referee_not_dumpable": True,
        "emptied_environment": True,
        "private_scratch": True,
        "no_inherited_descriptors": True,
        "dies_with_referee": True,
        "idle_side_stopped": device.freezes_idle_side,
        "state_mapped_read_only": device.read_only_state,
        "address_space_limited": device.kind == "cpu",
        "unprivileged_user": False,
        "no_network": False,
        "read_only_code": False,
    }
