"""Measure the machine's ceilings: copy bandwidth and matrix-product rate.

Measured once a run, before any side starts. The best of a few counts, because noise only lowers it.
"""

import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.harness.devices.arenas import Device
from benchmarks.harness.devices.layouts import torch_dtype
from benchmarks.verdict.controls import limits

# Large enough for full speed, small enough for a second.
_SIDE = {"cuda": 8192, "cpu": 1024}
_COPY_BYTES = {"cuda": 1 << 30, "cpu": 1 << 26}
_CALLS = {"cuda": 10, "cpu": 1}
_TIMES = {"cuda": 4, "cpu": 3}
_ALWAYS_ON_CUDA = "bfloat16"


def measure(device: Device, dtype: str) -> dict[str, Any]:
    """The record's `ceilings`: bytes read plus written and arithmetic operations, per second."""
    copied = _copied(device)
    dtypes = dict.fromkeys([dtype, *([_ALWAYS_ON_CUDA] if device.kind == "cuda" else [])])
    rates = {name: _products(device, name) for name in dtypes}
    if device.kind == "cuda":
        rates |= _eight_bits(device)
        torch.cuda.empty_cache()
    return {"copy_bytes_per_s": copied, "matmul_flops_per_s": rates}


def _copied(device: Device) -> float:
    source = torch.ones(_COPY_BYTES[device.kind], dtype=torch.uint8, device=device.torch_device)
    target = torch.empty_like(source)
    return _per_second(device, 2 * source.numel(), lambda: target.copy_(source))


def _products(device: Device, dtype: str) -> float:
    side = _SIDE[device.kind]
    # Random contents: zeros draw less power and run faster.
    first, second = (
        torch.randn(side, side, device=device.torch_device).to(torch_dtype(dtype)) for _ in range(2)
    )
    out = torch.empty_like(first)
    return _per_second(device, 2 * side**3, lambda: torch.mm(first, second, out=out))


def _eight_bits(device: Device) -> dict[str, float]:
    """The rate of 8-bit products, for the roofline floor; empty where torch has none for the
    device.
    """
    side = _SIDE[device.kind]
    first, second = (
        torch.randint(-128, 128, (side, side), dtype=torch.int8, device=device.torch_device)
        for _ in range(2)
    )
    try:
        # Tensor cores take the second matrix column-major.
        rate = _per_second(device, 2 * side**3, lambda: torch._int_mm(first, second.t()))
    except RuntimeError:
        return {}
    return {limits.EIGHT_BITS: rate}


def _per_second(device: Device, amount: int, work: Callable[[], object]) -> float:
    """The highest rate over a few rounds of calls, `amount` per call."""
    calls = _CALLS[device.kind]
    work()
    device.synchronize()
    best = 0.0
    for _ in range(_TIMES[device.kind]):
        started = time.perf_counter()
        for _ in range(calls):
            work()
        device.synchronize()
        best = max(best, calls * amount / (time.perf_counter() - started))
    return best
