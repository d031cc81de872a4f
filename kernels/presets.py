"""Ready-made benchmarks by machine: what the presets of all operators share. No torch here.

    presets.h200(title=…, baseline=…, candidate=…, workloads=(…,))

An operator overrides by name what its own sizes need: `target=1.4`, `protocol=…`.
"""

from __future__ import annotations

from functools import partial

from kernels import protocols
from kernels.definition import Preset

tiny = partial(
    Preset,
    device="cpu",
    hardware=None,
    dtype="float32",
    launch="eager",
    target=2.0,
    confidence=0.95,
    protocol=protocols.TINY,
)
cpu = partial(tiny, protocol=protocols.CPU)

# Any GPU with 8 GB, and old enough to compute in fp16 alone.
cuda = partial(
    Preset,
    device="cuda",
    hardware=None,
    dtype="float16",
    launch="graph",
    target=2.0,
    confidence=0.95,
    protocol=protocols.CUDA,
)
h200 = partial(cuda, hardware="NVIDIA H200", dtype="bfloat16", protocol=protocols.H200)
h100 = partial(h200, hardware="NVIDIA H100 80GB HBM3")
