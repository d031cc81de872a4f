"""Where a run was measured: device, versions, every installed package, what isolated the sides."""

from __future__ import annotations

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

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.cpu import CpuDevice
from benchmarks.harness.sides import isolation
from benchmarks.harness.sides.sandboxes import Cells


def cores() -> int:
    """Processor cores that this process may use: both sides get as many threads.

    No more than `OMP_NUM_THREADS` says, where it says a number.
    """
    allowed = len(os.sched_getaffinity(0))
    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(told)) if told.isdecimal() and int(told) else allowed


def capture(device: Device, cells: Cells, ceilings: dict[str, Any] | None) -> dict[str, Any]:
    """The record's `environment`."""
    return {**machine(device, ceilings), "isolation": isolation.in_force(device, cells)}


def machine(device: Device, ceilings: dict[str, Any] | None) -> dict[str, Any]:
    """Device, versions and packages, whatever was measured and however it was kept apart."""
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


# Reading what two hundred packages say of themselves takes a third of a second.
@functools.cache
def packages() -> Mapping[str, str]:
    """Versions of every installed package, by its name in small letters."""
    said = [distribution.metadata for distribution in importlib.metadata.distributions()]
    named = {each["Name"].lower(): each["Version"] for each in said if each["Name"]}
    return MappingProxyType(dict(sorted(named.items())))


def _driver() -> str | None:
    """The NVIDIA driver's version, as the kernel module tells it; None where it does not."""
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
