"""Select the back end of a device."""

from __future__ import annotations

import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.cpu import CpuDevice


def device(kind: str) -> Device:
    """Return the back end of `kind`, "cpu" or "cuda". Raises RuntimeError if torch sees no GPU."""
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise RuntimeError("torch sees no CUDA device here")
        # cuda-bindings are installed only where a GPU is.
        from benchmarks.harness.devices.cuda import CudaDevice

        return CudaDevice()
    return CpuDevice()
