"""A row a program in Triton: read once, kept in registers, written as int8.

Memory would be waiting for a float32 division and a conversion of every number, so neither is
done. A quotient is a product with the scale's inverse, corrected once by its remainder, which
rounds as a division does (Markstein, Computation of elementary functions on the IBM RISC
System/6000 processor, 1990). And adding 1.5 * 2**23 leaves no place for a fraction: it rounds
half to even, and the sum's last byte is the int8. Under TRITON_INTERPRET=1 it runs on the
processor.
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
    raise NotAvailable("triton_quantize needs Triton: pip install triton") from error

# A thread keeps this many numbers of its row in registers, up to the most warps of a program.
NUMBERS_A_THREAD = 32
MOST_WARPS = 16
THREADS_A_WARP = 32


@triton.jit
def _quantise(x_ptr, q_ptr, scale_ptr, stride, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    held = col < hidden
    x = tl.load(x_ptr + row * stride + col, mask=held, other=0.0).to(tl.float32)
    top = tl.maximum(tl.max(tl.abs(x), 0), 1e-10)
    scale = tl.div_rn(top, 127.0)
    tl.store(scale_ptr + row, scale)

    inverse = tl.div_rn(1.0, scale)
    quotient = x * inverse
    remainder = tl.fma(-quotient, scale, x)
    quotient = tl.fma(remainder, inverse, quotient)
    rounded = (quotient + 12582912.0).to(tl.int32, bitcast=True)
    tl.store(q_ptr + row * hidden + col, rounded.to(tl.int8), mask=held)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """There is no state to lay out. NotAvailable without a CUDA GPU."""
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_quantize needs a CUDA GPU; on the processor use torch_quantize")


def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q"] [tokens, hidden] and out["scale"] [tokens]."""
    x = inputs["x"]
    tokens, hidden = x.shape
    block = triton.next_power_of_2(hidden)
    warps = block // (NUMBERS_A_THREAD * THREADS_A_WARP)
    _quantise[(tokens,)](
        x,
        out["q"],
        out["scale"],
        x.stride(0),
        hidden,
        BLOCK=block,
        num_warps=max(1, min(MOST_WARPS, warps)),
    )
