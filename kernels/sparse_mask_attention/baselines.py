"""What one gets off the shelf: scaled_dot_product_attention with a mask, and FlexAttention."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution
from kernels.sparse_mask_attention.reference import allowed

# What FlexAttention ran fastest with on an H200 in 16 bits; its own choice took 7% more.
TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3}


def _by_head(inputs: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """q, k, v as [batch, heads, tokens, head_dim]."""
    return tuple(inputs[name].flatten(1, 2).transpose(1, 2) for name in ("q", "k", "v"))


def _put(attended: Tensor, out: Tensor) -> None:
    out.copy_(attended.transpose(1, 2).view(out.shape))


def _dense_mask(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    """The mask token by token, [tokens, tokens]."""
    by_block = allowed(state["keep"], axes)
    block = axes["block"]
    return by_block.repeat_interleave(block, 0).repeat_interleave(block, 1).tril_()


def _run_dense(prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    q, k, v = _by_head(inputs)
    grouped = q.shape[1] != k.shape[1]
    if grouped and q.device.type == "cuda":
        # The one CUDA back end that takes a mask wants as many key heads as query heads.
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        grouped = False
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=prepared, enable_gqa=grouped)
    _put(attended, out["out"])


def sdpa() -> Solution:
    """One call with a [tokens, tokens] mask: simple, and computes every masked pair."""
    return Solution(name="sdpa", prepare=_dense_mask, run=_run_dense)


@dataclass(frozen=True)
class _Flex:
    block_mask: Any
    options: dict[str, Any] | None


def _causal(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each row names, [1, 1, blocks], and which, first those that count."""
    order = blocks.to(torch.int32).argsort(dim=1, descending=True, stable=True)
    return blocks.sum(1, dtype=torch.int32)[None, None], order.to(torch.int32)[None, None]


def _prepare_flex(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Flex:
    """The mask as FlexAttention's lists: own blocks by the causal rule, others whole."""
    from torch.nn.attention.flex_attention import BlockMask

    seen = allowed(state["keep"], axes)
    own = torch.eye(seen.shape[0], dtype=torch.bool, device=seen.device)
    tokens = axes["blocks"] * axes["block"]
    block_mask = BlockMask.from_kv_blocks(
        *_listed(own),
        *_listed(seen & ~own),
        BLOCK_SIZE=axes["block"],
        mask_mod=_causal,
        seq_lengths=(tokens, tokens),
    )
    return _Flex(block_mask=block_mask, options=TILES if seen.device.type == "cuda" else None)


def _run_flex(
    attend: Callable[..., Any],
    prepared: _Flex,
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
) -> None:
    q, k, v = _by_head(inputs)
    attended = attend(
        q,
        k,
        v,
        block_mask=prepared.block_mask,
        enable_gqa=q.shape[1] != k.shape[1],
        kernel_options=prepared.options,
    )
    _put(attended, out["out"])


def flex_attention() -> Solution:
    """FlexAttention compiled, its block mask made once for a document."""
    try:
        from torch.nn.attention.flex_attention import flex_attention as flex
    except ImportError as error:
        raise NotAvailable(
            "FlexAttention needs torch 2.5 or later: pip install -U torch"
        ) from error
    if not torch.cuda.is_available() and not (shutil.which("g++") or shutil.which("clang++")):
        raise NotAvailable("FlexAttention on the processor needs a C++ compiler: install g++")
    compiled = torch.compile(flex, dynamic=False)
    return Solution(name="flex_attention", prepare=_prepare_flex, run=partial(_run_flex, compiled))


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "flex_attention": flex_attention,
}
