"""Rows of the table in Triton: a program copies one token's row, or a part of a long one.

The gradient adds rows that belong together without atomics, so that it is the same every time: the
ids are sorted, and the program that stands at the first of equal ids adds all of their rows in
float32. Under TRITON_INTERPRET=1 both run on the processor.
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
    raise NotAvailable("triton_lookup needs Triton: pip install triton") from error

# Numbers of a row that one program copies: four 16-byte loads of 16-bit numbers a thread.
MOST_COLUMNS = 1024
WARPS = 1
# Parts of a row that the gradient is cut into: a frequent token's rows are added by several.
GRADIENT_COLUMNS = 512


@triton.jit
def _look_up(table_ptr, ids_ptr, out_ptr, seq_len, ids_stride_batch, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = (token // seq_len) * ids_stride_batch + token % seq_len
    row = tl.load(ids_ptr + at).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    held = col < hidden
    # Neither is read again soon: the table's other rows may keep their place in the cache.
    found = tl.load(table_ptr + row * hidden + col, mask=held, eviction_policy="evict_first")
    tl.store(out_ptr + token * hidden + col, found, mask=held, eviction_policy="evict_first")


@triton.jit
def _add_rows(grad_ptr, sorted_ptr, order_ptr, table_grad_ptr, tokens, hidden,
              BLOCK: tl.constexpr):  # fmt: skip
    place = tl.program_id(0).to(tl.int64)
    row = tl.load(sorted_ptr + place)
    before = tl.load(sorted_ptr + place - 1, mask=place > 0, other=-1)
    if row != before:
        col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        held = col < hidden
        total = tl.zeros([BLOCK], tl.float32)
        same = row
        while same == row:
            token = tl.load(order_ptr + place)
            total += tl.load(grad_ptr + token * hidden + col, mask=held, other=0.0).to(tl.float32)
            place += 1
            same = tl.load(sorted_ptr + place, mask=place < tokens, other=-1)
        kind = table_grad_ptr.dtype.element_ty
        tl.store(table_grad_ptr + row * hidden + col, total.to(kind), mask=held)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """The table with dense rows. NotAvailable without a CUDA GPU."""
    if not state["table"].is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_lookup needs a CUDA GPU; on the processor use torch_gather")
    return state["table"].contiguous()


def run(table: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, seq_len, hidden]."""
    ids, hidden = inputs["ids"], table.shape[1]
    block = min(MOST_COLUMNS, triton.next_power_of_2(hidden))
    _look_up[(ids.numel(), triton.cdiv(hidden, block))](
        table,
        ids,
        out["out"],
        ids.shape[1],
        ids.stride(0),
        hidden,
        BLOCK=block,
        num_warps=WARPS,
    )


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Every token's gradient, added in float32 to its row of the table; other rows are zero."""
    made = torch.zeros_like(state["table"])
    ordered, order = inputs["ids"].flatten().sort(stable=True)
    hidden = made.shape[1]
    block = min(GRADIENT_COLUMNS, triton.next_power_of_2(hidden))
    _add_rows[(order.numel(), triton.cdiv(hidden, block))](
        grads["out"].contiguous(),
        ordered,
        order,
        made,
        order.numel(),
        hidden,
        BLOCK=block,
        num_warps=2,
    )
    return {"table": made}
