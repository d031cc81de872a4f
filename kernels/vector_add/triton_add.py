"""The sum in Triton: each program adds one block, and the last one masks what lies past the end.

Nothing is read twice, so the kernel is as quick as memory: all there is to get right is that
every thread moves 16 bytes at a time (Triton sees to it, where addresses allow) and that enough
of them are under way.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_add needs Triton: pip install triton") from error

# Numbers a program adds: two 16-byte loads of 16-bit numbers a thread and vector.
BLOCK = 2048
WARPS = 4


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    # 64 bits: a vector may hold more numbers than 32 bits count.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    held = at < length
    x = tl.load(x_ptr + at, mask=held)
    y = tl.load(y_ptr + at, mask=held)
    tl.store(out_ptr + at, x + y, mask=held)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """Untimed, and there is nothing to prepare. NotAvailable without a GPU."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_add needs a CUDA GPU; on the processor use torch_plain")


def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Timed: queue one call that writes every element of out["out"] [length]."""
    length = out["out"].numel()
    programs = triton.cdiv(length, BLOCK)
    _add[(programs,)](inputs["x"], inputs["y"], out["out"], length, BLOCK=BLOCK, num_warps=WARPS)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """A sum hands its gradient on to both of its terms."""
    return {"x": grads["out"], "y": grads["out"]}
