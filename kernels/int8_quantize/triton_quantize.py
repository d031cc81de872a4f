"""A row a program in Triton: read once, kept in registers as it came, written as int8.

Memory would be waiting for a float32 division and a conversion of every number, so neither is
done. A quotient is a product with the scale's inverse, corrected once by its remainder, which
rounds as a division does (Markstein, Computation of elementary functions on the IBM RISC
System/6000 processor, 1990). And adding 1.5 * 2**23 leaves no place for a fraction: it rounds
half to even, and the sum's last byte is the int8. Under TRITON_INTERPRET=1 it runs on the
processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say; nor that
# a tuple grows in an unrolled loop.
# mypy: disable-error-code="no-untyped-def, assignment, unreachable"
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

# A thread keeps at least this many numbers of its row in registers, and under twice as many.
NUMBERS_A_THREAD = 32
MOST_WARPS = 16
THREADS_A_WARP = 32
# What a thread loads and stores at once: 16 bytes of 16-bit numbers.
NUMBERS_AT_ONCE = 8


@triton.jit
def _quantise(
    x_ptr, q_ptr, scale_ptr, stride, hidden,
    PIECE: tl.constexpr, PIECES: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, PIECE)
    # Without their sign finite numbers are ordered as their bits are. Kept as they came, 16-bit
    # numbers take half the registers, and more rows are under way at a time.
    BITS: tl.constexpr = tl.int16 if x_ptr.dtype.element_ty.primitive_bitwidth == 16 else tl.int32
    UNSIGNED: tl.constexpr = (1 << (BITS.primitive_bitwidth - 1)) - 1
    pieces = ()
    top = tl.zeros([PIECE], BITS)
    for piece in tl.static_range(PIECES):
        at = piece * PIECE + col
        if WHOLE:
            x = tl.load(x_ptr + row * stride + at)
        else:
            x = tl.load(x_ptr + row * stride + at, mask=at < hidden, other=0.0)
        top = tl.maximum(top, x.to(BITS, bitcast=True) & UNSIGNED)
        pieces += (x,)
    largest = tl.max(top, 0).to(BITS).to(x_ptr.dtype.element_ty, bitcast=True).to(tl.float32)
    scale = tl.div_rn(tl.maximum(largest, 1e-10), 127.0)
    tl.store(scale_ptr + row, scale)

    inverse = tl.div_rn(1.0, scale)
    for piece in tl.static_range(PIECES):
        at = piece * PIECE + col
        x = pieces[piece].to(tl.float32)
        quotient = x * inverse
        remainder = tl.fma(-quotient, scale, x)
        quotient = tl.fma(remainder, inverse, quotient)
        rounded = (quotient + 12582912.0).to(tl.int32, bitcast=True).to(tl.int8)
        if WHOLE:
            tl.store(q_ptr + row * hidden + at, rounded)
        else:
            tl.store(q_ptr + row * hidden + at, rounded, mask=at < hidden)


def variants(item_bytes: int) -> dict[str, int]:
    """Warps worth trying on a new GPU, by a short name."""
    return {f"w{warps}": warps for warps in (2, 4, 8, 16)}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: int | None = None
) -> int | None:
    """There is no state to lay out; warps of a row, None: what suits its length.

    NotAvailable without a CUDA GPU.
    """
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_quantize needs a CUDA GPU; on the processor use torch_quantize")
    return config


def run(prepared: int | None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q"] [tokens, hidden] and out["scale"] [tokens]."""
    x = inputs["x"]
    tokens, hidden = x.shape
    warps = prepared or _warps(hidden)
    piece = min(warps * THREADS_A_WARP * NUMBERS_AT_ONCE, triton.next_power_of_2(hidden))
    _quantise[(tokens,)](
        x,
        out["q"],
        out["scale"],
        x.stride(0),
        hidden,
        PIECE=piece,
        PIECES=triton.cdiv(hidden, piece),
        WHOLE=hidden % piece == 0,
        num_warps=warps,
    )


def _warps(hidden: int) -> int:
    """The largest power of two that leaves every thread enough numbers."""
    wanted = max(1, hidden // (NUMBERS_A_THREAD * THREADS_A_WARP))
    return min(MOST_WARPS, 1 << (wanted.bit_length() - 1))
