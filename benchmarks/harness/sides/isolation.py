"""Isolate a side from the referee, and list the protections in force."""

import ctypes
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides.operators import SEARCH_PATH_VARIABLE
from benchmarks.harness.sides.sandboxes import Sandboxes

# The names for `--require-isolation`.
FULL = (
    "children_counted",
    "emptied_environment",
    "files_hidden",
    "no_capabilities",
    "no_network",
    "no_new_privileges",
    "own_keyring",
    "own_process_ids",
    "private_scratch",
    "read_only_code",
    "referee_unreadable",
    "scratch_limited",
    "unprivileged_user",
)
# The minimum for acceptance runs; CUDA works with all of these.
_WITHOUT_CUDA = ("children_counted", "files_hidden", "own_process_ids", "scratch_limited")
ACCEPTANCE = tuple(name for name in FULL if name not in _WITHOUT_CUDA)
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
_CODE = Path(__file__).resolve().parents[3]
_SHARE_OF_MEMORY = 0.8
# Importing torch alone maps gigabytes that it never uses.
_LEAST_ADDRESS_SPACE_BYTES = 8 << 30


def hide_referee() -> None:
    """Make this process's memory and environment unreadable to others of the same user."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the referee could not set itself non-dumpable")


def side_environment(*, scratch: Path, cache: Path, threads: int) -> dict[str, str]:
    """A side's complete environment: the paths of torch and Triton, and nothing else.

    `cache` outlives the process, so that each replicate need not compile the kernels again.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = [str(_CODE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return environment | {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(folder for folder in own if folder)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
        # Some libraries keep compiled code in a folder of this name under the machine's /tmp; a
        # random name keeps runs apart.
        "USER": f"side-{secrets.token_hex(8)}",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        # Without this, one process per core keeps working between the side's turns.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "CUDA_CACHE_PATH": str(cache / "cuda"),
        "FLASHINFER_WORKSPACE_BASE": str(cache / "flashinfer"),
        "CUTE_DSL_CACHE_DIR": str(cache / "cute"),
        "OMP_NUM_THREADS": str(threads),
        # Multicast over NVLink can put the GPUs of a shared host out of service.
        "NCCL_NVLS_ENABLE": "0",
        "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
        "NVSHMEM_DISABLE_NVLS": "1",
        # Ranks of a side reach each other by its own loopback.
        "NCCL_SOCKET_IFNAME": "lo",
        "GLOO_SOCKET_IFNAME": "lo",
        # numpy would start one thread per core when torch imports it.
        "OPENBLAS_NUM_THREADS": str(threads),
    }


def address_space_bytes(device: Device) -> int | None:
    """The limit of a side's address space; None on CUDA, which maps far more than it uses."""
    if device.kind == "cuda":
        return None
    return max(int(device.memory_bytes() * _SHARE_OF_MEMORY), _LEAST_ADDRESS_SPACE_BYTES)


def in_force(device: Device, sandboxes: Sandboxes) -> dict[str, bool]:
    """Each protection, and whether it is in force in this run, for the record.

    Those that depend on the machine come from `sandboxes.found`, where they were attempted.
    """
    return {
        "separate_processes": True,
        "referee_not_dumpable": True,
        "emptied_environment": True,
        "private_scratch": True,
        "no_inherited_descriptors": True,
        "dies_with_referee": True,
        "idle_side_stopped": True,
        "state_mapped_read_only": device.read_only_state,
        "address_space_limited": device.kind == "cpu",
        **sandboxes.found,
    }


def required(text: str) -> tuple[str, ...]:
    """Parse names of protections separated by commas, `all` or `acceptance`.

    Raises SetupError for an unknown name.
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if names == ("all",):
        return FULL
    if names == ("acceptance",):
        return ACCEPTANCE
    unknown = sorted(set(names) - set(FULL))
    if unknown:
        raise SetupError(
            f"unknown isolation {', '.join(unknown)}; known: all, acceptance, {', '.join(FULL)}"
        )
    return names


def require(names: Sequence[str], device: Device, sandboxes: Sandboxes) -> None:
    """Raise SetupError, with the reasons, unless all of `names` are in force."""
    held = in_force(device, sandboxes)
    missing = [name for name in names if not held.get(name, False)]
    if missing:
        why = f" ({'; '.join(sandboxes.refused)})" if sandboxes.refused else ""
        raise SetupError(f"isolation not in force here: {', '.join(missing)}{why}")
