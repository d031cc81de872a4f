"""Template of a Triton candidate: shared-prefix decode attention, correct but slow.

Copy it, rename it (triton_mine.py), and replace the kernel. One program computes one head of one
sequence, block by block of keys. The interface and its rules are in kernels/CANDIDATES.md. With
TRITON_INTERPRET=1 it runs on the processor for testing.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Mapping

import triton
import triton.language as tl
from torch import Tensor

LOG2_E = 1.4426950408889634
BLOCK = 64


@triton.jit
def _take(q, k_ptr, v_ptr, length, scale, top, total, acc, WIDTH: tl.constexpr,
          BLOCK_D: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Take `length` keys into one online softmax, base 2."""
    col = tl.arange(0, BLOCK_D)
    for start in range(0, length, BLOCK):
        n = start + tl.arange(0, BLOCK)
        held = (n[:, None] < length) & (col[None, :] < WIDTH)
        at = n[:, None] * WIDTH + col[None, :]
        k = tl.load(k_ptr + at, mask=held, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + at, mask=held, other=0.0).to(tl.float32)
        score = tl.where(n < length, tl.sum(q[None, :] * k, 1) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 0))
        fade = tl.exp2(top - new_top)
        share = tl.exp2(score - new_top)
        total = total * fade + tl.sum(share, 0)
        acc = acc * fade + tl.sum(share[:, None] * v, 0)
        top = new_top
    return top, total, acc


@triton.jit
def _decode(q_ptr, k_new_ptr, v_new_ptr, prefix_k, prefix_v, own_k, own_v, out_ptr,
            stride_q, stride_k, stride_v, stride_out, prefix_len, own_len, scale,
            GROUP: tl.constexpr, WIDTH: tl.constexpr, BLOCK_D: tl.constexpr,
            BLOCK: tl.constexpr):  # fmt: skip
    head = tl.program_id(0)
    seq = tl.program_id(1).to(tl.int64)
    kv_head = head // GROUP
    kv_heads = tl.num_programs(0) // GROUP
    col = tl.arange(0, BLOCK_D)
    wide = col < WIDTH
    q = tl.load(q_ptr + seq * stride_q + head * WIDTH + col, mask=wide, other=0.0)
    q = q.to(tl.float32)
    # The new token opens the softmax: it is one key with a share of one.
    k_new = tl.load(k_new_ptr + seq * stride_k + kv_head * WIDTH + col, mask=wide, other=0.0)
    v_new = tl.load(v_new_ptr + seq * stride_v + kv_head * WIDTH + col, mask=wide, other=0.0)
    top = tl.sum(q * k_new.to(tl.float32), 0) * scale
    total = 1.0
    acc = v_new.to(tl.float32)
    shared = kv_head.to(tl.int64) * prefix_len * WIDTH
    top, total, acc = _take(q, prefix_k + shared, prefix_v + shared, prefix_len, scale,
                            top, total, acc, WIDTH, BLOCK_D, BLOCK)  # fmt: skip
    own = (seq * kv_heads + kv_head) * own_len * WIDTH
    top, total, acc = _take(q, own_k + own, own_v + own, own_len, scale,
                            top, total, acc, WIDTH, BLOCK_D, BLOCK)  # fmt: skip
    result = (acc / total).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + seq * stride_out + head * WIDTH + col, result, mask=wide)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Mapping[str, Tensor]:
    """Called once a layer, untimed; may copy state to another layout. State is read-only."""
    return {name: tensor.contiguous() for name, tensor in state.items()}


def run(
    prepared: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    """Timed: queue one call, write every element of out["out"] [batch, heads, head_dim].

    Inputs may be strided along the batch.
    """
    q, k_new, v_new, result = inputs["q"], inputs["k_new"], inputs["v_new"], out["out"]
    batch, heads, width = q.shape
    kv_heads, prefix_len, _ = prepared["prefix_k"].shape
    _decode[(heads, batch)](
        q,
        k_new,
        v_new,
        prepared["prefix_k"],
        prepared["prefix_v"],
        prepared["own_k"],
        prepared["own_v"],
        result,
        q.stride(0),
        k_new.stride(0),
        v_new.stride(0),
        result.stride(0),
        prefix_len,
        prepared["own_k"].shape[2],
        width**-0.5 * LOG2_E,
        GROUP=heads // kv_heads,
        WIDTH=width,
        BLOCK_D=triton.next_power_of_2(width),
        BLOCK=BLOCK,
    )
