"""What torch alone gives for a paged cache: pages gathered, or FlexAttention over a block mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

PAGE = 64
# Rows of a mask's blocks: as many as FlexAttention pads a decoding query to.
QUERIES = 128
# Rows after a table's tokens: the new one, and zeros that keep the mask's rows aligned.
MORE = 8


@dataclass(frozen=True)
class _Pages:
    k: Tensor  # [pages, kv_heads, PAGE, head_dim] in FP8
    v: Tensor
    k_scale: Tensor  # [kv_heads]
    v_scale: Tensor


def _wide(pool: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    return (pool.to(torch.float32) * scale[:, None, None]).to(dtype)


def _gathered(pool: Tensor, scale: Tensor, table: Tensor, new: Tensor) -> Tensor:
    """A sequence's tokens in a row, then the new one: [batch, kv_heads, tokens + 8, head_dim]."""
    # As bytes: not every device indexes FP8.
    pages = pool.view(torch.uint8)[table].view(pool.dtype)
    tokens = _wide(pages, scale, new.dtype).transpose(1, 2).flatten(2, 3)
    return torch.cat([tokens, F.pad(new.unsqueeze(2), (0, 0, 0, MORE - 1))], 2)


def gathered() -> Solution:
    """Every sequence's table in full, as attention without pages requires."""

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Pages:
        return _Pages(state["cache_k"], state["cache_v"], state["k_scale"], state["v_scale"])

    def run(pages: _Pages, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        q, last = inputs["q"].unsqueeze(2), inputs["last"]
        table = inputs["page_table"].long()
        k = _gathered(pages.k, pages.k_scale, table, inputs["k_new"])
        v = _gathered(pages.v, pages.v_scale, table, inputs["v_new"])
        token = torch.arange(k.shape[2], device=q.device)
        seen = (token <= last[:, None]) | (token == k.shape[2] - MORE)
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=seen[:, None, None], enable_gqa=q.shape[1] != k.shape[1]
        )
        out["out"].copy_(attended.squeeze(2))

    return Solution(name="gathered", prepare=prepare, run=run)


def _flex_and_merge(
    q: Tensor, k: Tensor, v: Tensor, k_new: Tensor, v_new: Tensor, table: Tensor, last: Tensor
) -> Tensor:
    """Attention over the pages by a block mask, then the new token by log-sum-exp."""
    from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

    used = last // PAGE
    full = used[:, None, None].int()
    rows = table[:, None, None].int()
    # FlexAttention's decoding kernel finds both lists of pages by the strides of the first.
    final = table.gather(1, used[:, None].long()).int()[:, None, None].expand_as(rows).contiguous()
    final_slot = last % PAGE

    def seen(b: Tensor, h: Tensor, row: Tensor, slot: Tensor) -> Tensor:
        return slot % PAGE <= final_slot[b]

    mask = BlockMask(
        seq_lengths=(1, k.shape[2]),
        kv_num_blocks=torch.ones_like(full),
        kv_indices=final,
        full_kv_num_blocks=full,
        full_kv_indices=rows,
        q_num_blocks=None,
        q_indices=None,
        full_q_num_blocks=None,
        full_q_indices=None,
        BLOCK_SIZE=(QUERIES, PAGE),
        mask_mod=seen,
    )
    cached, aux = flex_attention(
        q.unsqueeze(2), k, v, block_mask=mask, enable_gqa=True, return_aux=AuxRequest(lse=True)
    )
    assert aux.lse is not None
    group = q.shape[1] // k_new.shape[1]
    key, value = (new.repeat_interleave(group, 1) for new in (k_new, v_new))
    score = (q.float() * key.float()).sum(-1) * q.shape[-1] ** -0.5
    own = torch.sigmoid(score - aux.lse.squeeze(2))[..., None]
    return cached.squeeze(2).float() * (1 - own) + value.float() * own


def paged_flex() -> Solution:
    """FlexAttention reads a sequence's own pages only. Its keys have the query's dtype, so pages
    are widened beforehand: twice the bytes of FP8.
    """
    if not torch.cuda.is_available():
        raise NotAvailable("FlexAttention over pages is measured on a CUDA GPU only")
    attend: Callable[..., Tensor] = torch.compile(_flex_and_merge, dynamic=False)

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        def joined(name: str) -> Tensor:
            wide = _wide(state[f"cache_{name}"], state[f"{name}_scale"], torch.bfloat16)
            return wide.transpose(0, 1).flatten(1, 2).unsqueeze(0).contiguous()

        return joined("k"), joined("v")

    def run(
        pages: tuple[Tensor, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        token = (inputs[name] for name in ("q", "k_new", "v_new", "page_table", "last"))
        q, k_new, v_new, table, last = token
        if q.dtype != torch.bfloat16:
            raise NotAvailable("paged_flex widens its pages to bfloat16")
        out["out"].copy_(attend(q, *pages, k_new, v_new, table, last))

    return Solution(name="paged_flex", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {"gathered": gathered, "paged_flex": paged_flex}
