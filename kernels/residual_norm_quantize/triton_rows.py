"""A row a program in Triton: read once, kept in registers until it is written as FP8.

Rows that fill the GPU many times over have few warps each, so that several are in flight on a
multiprocessor; a few rows have many warps each, so that all loads of a row are one instruction. The
quotient is a product with the scale's inverse: it differs from the quotient by less than 2**-22 of
it, so a number is a step of FP8 off only within that of a tie.
Under TRITON_INTERPRET=1 it runs on the processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say; nor that
# a tuple grows in an unrolled loop.
# mypy: disable-error-code="no-untyped-def, assignment, unreachable"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_rows needs Triton: pip install triton") from error

EPS = 1e-5
# A thread keeps at least this many numbers of its row in registers, and under twice as many.
NUMBERS_A_THREAD = 32
MOST_WARPS = 16
THREADS_A_WARP = 32
# What a thread loads and stores at once: 16 bytes of 16-bit numbers.
NUMBERS_AT_ONCE = 8
# Up to this many rows a multiprocessor has one or two of them: more warps a row are free.
FEW_ROWS = 264


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [hidden]
    warps: int


@triton.jit
def _as_fp8(x, dtype: tl.constexpr, HARDWARE: tl.constexpr):
    """Numbers of at most 448 rounded to e4m3, half to even."""
    if HARDWARE:
        result = x.to(dtype)
    else:
        # Triton's interpreter rounds half up, and loses the carry into the exponent.
        size = tl.abs(x)
        bits = size.to(tl.int32, bitcast=True)
        normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20) - (120 << 3)
        subnormal = (size * 512.0 + 12582912.0).to(tl.int32, bitcast=True) & 0xFF
        code = tl.where(size < 0.015625, subnormal, normal)
        code = tl.where(x != x, 0x7F, code) | tl.where(x < 0.0, 0x80, 0)
        result = code.to(tl.uint8).to(dtype, bitcast=True)
    return result


@triton.jit
def _norm_and_quantise(
    x_ptr, residual_ptr, weight_ptr, q_ptr, scale_ptr, sum_ptr,
    stride_x, stride_residual, hidden, eps,
    PIECE: tl.constexpr, PIECES: tl.constexpr, WHOLE: tl.constexpr, HARDWARE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, PIECE)
    kept, weights = (), ()
    squares = tl.zeros([PIECE], tl.float32)
    for piece in tl.static_range(PIECES):
        at = piece * PIECE + col
        if WHOLE:
            x = tl.load(x_ptr + row * stride_x + at, eviction_policy="evict_first")
            other = tl.load(
                residual_ptr + row * stride_residual + at, eviction_policy="evict_first"
            )
            weight = tl.load(weight_ptr + at, eviction_policy="evict_last")
        else:
            inside = at < hidden
            x = tl.load(x_ptr + row * stride_x + at, mask=inside, other=0.0)
            other = tl.load(residual_ptr + row * stride_residual + at, mask=inside, other=0.0)
            weight = tl.load(weight_ptr + at, mask=inside, other=0.0)
        rounded = (x.to(tl.float32) + other.to(tl.float32)).to(sum_ptr.dtype.element_ty)
        if WHOLE:
            tl.store(sum_ptr + row * hidden + at, rounded)
        else:
            tl.store(sum_ptr + row * hidden + at, rounded, mask=at < hidden)
        wide = rounded.to(tl.float32)
        squares += wide * wide
        kept += (wide,)
        weights += (weight,)
    inverse = 1.0 / tl.sqrt_rn(tl.sum(squares, 0) / hidden + eps)

    normed = ()
    top = tl.zeros([PIECE], tl.float32)
    for piece in tl.static_range(PIECES):
        number = kept[piece] * inverse * weights[piece].to(tl.float32)
        top = tl.maximum(top, tl.abs(number))
        normed += (number,)
    largest = tl.maximum(tl.max(top, 0), 1e-10)
    # A maximum passes over NaN; the row's inverse does not, and is finite otherwise.
    scale = tl.div_rn(largest, 448.0) + inverse * 0.0
    tl.store(scale_ptr + row, scale)

    factor = tl.div_rn(448.0, largest)
    for piece in tl.static_range(PIECES):
        at = piece * PIECE + col
        # At most 448 * (1 + 2**-22), which rounds to 448, so that nothing is cut off.
        q = _as_fp8(normed[piece] * factor, q_ptr.dtype.element_ty, HARDWARE)
        if WHOLE:
            tl.store(q_ptr + row * hidden + at, q)
        else:
            tl.store(q_ptr + row * hidden + at, q, mask=at < hidden)


def variants(item_bytes: int) -> dict[str, int]:
    """Warps worth trying on a new GPU, by a short name."""
    return {f"w{warps}": warps for warps in (2, 4, 8, 16)}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: int | None = None
) -> _Prepared:
    """The norm's weights, and the warps of a row, None: those that suit length and number of rows.

    NotAvailable without a CUDA GPU.
    """
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_rows needs a CUDA GPU; on the processor use torch_in_place")
    weight = state["weight"].contiguous()
    return _Prepared(weight, config or _warps(len(weight), axes["tokens"]))


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q"] and out["sum"] [tokens, hidden] and out["scale"] [tokens]."""
    x, residual = inputs["x"], inputs["residual"]
    tokens, hidden = x.shape
    warps = prepared.warps
    piece = min(warps * THREADS_A_WARP * NUMBERS_AT_ONCE, triton.next_power_of_2(hidden))
    _norm_and_quantise[(tokens,)](
        x,
        residual,
        prepared.weight,
        out["q"],
        out["scale"],
        out["sum"],
        x.stride(0),
        residual.stride(0),
        hidden,
        EPS,
        PIECE=piece,
        PIECES=triton.cdiv(hidden, piece),
        WHOLE=hidden % piece == 0,
        HARDWARE=x.is_cuda,
        num_warps=warps,
    )


def _warps(hidden: int, tokens: int) -> int:
    """The largest power of two that leaves every thread enough numbers; many for few rows."""
    enough = NUMBERS_AT_ONCE if tokens <= FEW_ROWS else NUMBERS_A_THREAD
    wanted = max(1, hidden // (enough * THREADS_A_WARP))
    return min(MOST_WARPS, 1 << (wanted.bit_length() - 1))
