"""Queries and keys turned in one Triton launch: a program takes a token with all of its heads.

Both halves of a head are in registers at once and a token's row of the tables is read once for all
heads, so every byte moves once. Under TRITON_INTERPRET=1 it runs on the processor.
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
    raise NotAvailable("triton_rotate needs Triton: pip install triton") from error

WARPS = 8


@triton.jit
def _turn_heads(x_ptr, stride_head, out_ptr, cos, sin, HEADS: tl.constexpr, HALF: tl.constexpr,
                BLOCK_HEADS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    head = tl.arange(0, BLOCK_HEADS)[:, None]
    col = tl.arange(0, BLOCK)[None, :]
    held = (head < HEADS) & (col < HALF)
    x_at = x_ptr + head * stride_head + col
    first = tl.load(x_at, mask=held).to(tl.float32)
    second = tl.load(x_at + HALF, mask=held).to(tl.float32)
    at = head * (2 * HALF) + col
    kind = out_ptr.dtype.element_ty
    tl.store(out_ptr + at, (first * cos - second * sin).to(kind), mask=held)
    tl.store(out_ptr + at + HALF, (second * cos + first * sin).to(kind), mask=held)


@triton.jit
def _turn(q_ptr, k_ptr, cos_ptr, sin_ptr, q_out_ptr, k_out_ptr, seq_len,
          q_stride_batch, q_stride_token, q_stride_head,
          k_stride_batch, k_stride_token, k_stride_head,
          HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HALF: tl.constexpr,
          BLOCK_HEADS: tl.constexpr, BLOCK_KV_HEADS: tl.constexpr, BLOCK: tl.constexpr,
          BACK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    batch, token = row // seq_len, row % seq_len
    col = tl.arange(0, BLOCK)
    cos = tl.load(cos_ptr + token * HALF + col, mask=col < HALF)[None, :]
    sin = tl.load(sin_ptr + token * HALF + col, mask=col < HALF)[None, :]
    if BACK:
        sin = -sin
    _turn_heads(q_ptr + batch * q_stride_batch + token * q_stride_token, q_stride_head,
                q_out_ptr + row * (HEADS * 2 * HALF), cos, sin,
                HEADS, HALF, BLOCK_HEADS, BLOCK)  # fmt: skip
    _turn_heads(k_ptr + batch * k_stride_batch + token * k_stride_token, k_stride_head,
                k_out_ptr + row * (KV_HEADS * 2 * HALF), cos, sin,
                KV_HEADS, HALF, BLOCK_KV_HEADS, BLOCK)  # fmt: skip


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> dict[str, Tensor]:
    """The tables with dense rows. NotAvailable without a CUDA GPU."""
    if not state["cos"].is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_rotate needs a CUDA GPU; on the processor use torch_rotate")
    return {name: table.contiguous() for name, table in state.items()}


def run(
    prepared: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Writes out["q_turned"] and out["k_turned"] [batch, seq_len, heads, head_dim]."""
    _launch(prepared, inputs["q"], inputs["k"], out["q_turned"], out["k_turned"], back=False)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """A rotation's gradient is turned back. The tables are constants."""
    # Gradients come as autograd has them, expanded or transposed.
    q, k = grads["q_turned"].contiguous(), grads["k_turned"].contiguous()
    made = {"q": torch.empty_like(q), "k": torch.empty_like(k)}
    _launch(prepare(state, axes), q, k, made["q"], made["k"], back=True)
    return made


def _launch(
    tables: Mapping[str, Tensor],
    q: Tensor,
    k: Tensor,
    q_out: Tensor,
    k_out: Tensor,
    *,
    back: bool,
) -> None:
    batch, seq_len, heads, width = q.shape
    _turn[(batch * seq_len,)](
        q,
        k,
        tables["cos"],
        tables["sin"],
        q_out,
        k_out,
        seq_len,
        *q.stride()[:3],
        *k.stride()[:3],
        HEADS=heads,
        KV_HEADS=k.shape[2],
        HALF=width // 2,
        BLOCK_HEADS=triton.next_power_of_2(heads),
        BLOCK_KV_HEADS=triton.next_power_of_2(k.shape[2]),
        BLOCK=triton.next_power_of_2(width // 2),
        BACK=back,
        num_warps=WARPS,
    )
