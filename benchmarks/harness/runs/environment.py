"""Capture the environment of a run: device, versions, packages, isolation."""

import functools
import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from benchmarks.harness.devices import rank_telemetry
from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.cpu import CpuDevice
from benchmarks.harness.sides import isolation
from benchmarks.harness.sides.sandboxes import Sandboxes


def cores() -> int:
    """Processor cores that this process may use, at most OMP_NUM_THREADS; threads of a side."""
    allowed = len(os.sched_getaffinity(0))
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(threads)) if threads.isdecimal() and int(threads) else allowed


def threads(protocol: Mapping[str, Any]) -> int:
    """Threads of a side on a processor: the cores but those that the protocol spares."""
    spared: int = protocol.get("spare_cores", 0)
    return max(1, cores() - spared)


def capture(
    device: Device, sandboxes: Sandboxes, ceilings: dict[str, Any] | None
) -> dict[str, Any]:
    """The record's `environment`."""
    ranks = getattr(device, "ranks", 1)
    several = {"ranks": rank_telemetry.topology(device.kind, ranks)} if ranks > 1 else {}
    return {
        **machine(device, ceilings),
        **several,
        "isolation": isolation.in_force(device, sandboxes),
    }


def machine(device: Device, ceilings: dict[str, Any] | None) -> dict[str, Any]:
    """Device, versions and packages."""
    installed = packages()
    return {
        "device": {
            "kind": device.kind,
            "name": device.name(),
            "memory_bytes": device.memory_bytes(),
            "cache_bytes": device.cache_bytes(),
        },
        "ceilings": ceilings,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()} {platform.release()}",
        "cpu": CpuDevice().name(),
        "cores": cores(),
        "torch": str(torch.__version__),
        "triton": installed.get("triton"),
        "cuda": torch.version.cuda if device.kind == "cuda" else None,
        "driver": _driver() if device.kind == "cuda" else None,
        "packages": dict(installed),
    }


# Reading the metadata of two hundred packages takes 0.3 s.
@functools.cache
def packages() -> Mapping[str, str]:
    """The version of every installed package, by its lower-case name."""
    said = [distribution.metadata for distribution in importlib.metadata.distributions()]
    named = {each["Name"].lower(): each["Version"] for each in said if each["Name"]}
    return MappingProxyType(dict(sorted(named.items())))


def _driver() -> str | None:
    """The NVIDIA driver's version from the kernel module; None without it."""
    path = Path("/proc/driver/nvidia/version")
    if not path.is_file():
        return _driver_by_nvml()
    words = path.read_text().split()
    return next((word for word in words if word.count(".") >= 1 and word[0].isdigit()), None)


def _driver_by_nvml() -> str | None:
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None
    return version.decode() if isinstance(version, bytes) else str(version)
