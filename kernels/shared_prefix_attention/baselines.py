"""What one gets off the shelf: each sequence keeps a KV cache of its own, prompt included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


@dataclass(frozen=True)
class _Cache:
    k: Tensor  # [batch, kv_heads, prefix_len + own_len + 1, head_dim]
    v: Tensor


def _pack(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Cache:
    """Copy prompt and own tokens into one contiguous cache with a free slot for the new one."""

    def joined(prefix: Tensor, own: Tensor) -> Tensor:
        slots = axes["prefix_len"] + axes["own_len"] + 1
        cache = own.new_empty(axes["batch"], axes["kv_heads"], slots, axes["head_dim"])
        cache[:, :, : axes["prefix_len"]] = prefix
        cache[:, :, axes["prefix_len"] : -1] = own
        return cache

    return _Cache(
        k=joined(state["prefix_k"], state["own_k"]),
        v=joined(state["prefix_v"], state["own_v"]),
    )


def _append(cache: _Cache, inputs: Mapping[str, Tensor]) -> tuple[Tensor, bool]:
    """Store the new token; give back q [batch, heads, queries, head_dim] and whether it is GQA.

    K and V are never repeated. On a GPU the library is told of the grouped queries and takes
    its decoding kernel. On the processor it is quicker to stand a group's queries where a
    longer query would be, so that each key is read once for all of them; on a GPU that form
    picks a kernel for long queries, which runs into the card's power limit.
    """
    cache.k[:, :, -1] = inputs["k_new"]
    cache.v[:, :, -1] = inputs["v_new"]
    q = inputs["q"]
    batch, heads, width = q.shape
    kv_heads = cache.k.shape[1]
    if q.device.type == "cpu":
        return q.view(batch, kv_heads, heads // kv_heads, width), False
    return q.unsqueeze(2), heads != kv_heads


def _run_sdpa(prepared: _Cache, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    q, grouped = _append(prepared, inputs)
    attended = F.scaled_dot_product_attention(q, prepared.k, prepared.v, enable_gqa=grouped)
    out["out"].view(q.shape).copy_(attended)


def sdpa() -> Solution:
    """torch's scaled_dot_product_attention, whichever back end torch picks."""
    return Solution(name="sdpa", prepare=_pack, run=_run_sdpa)


def flex_attention() -> Solution:
    """torch's FlexAttention through torch.compile; needs a C++ compiler on the processor."""
    try:
        from torch.nn.attention.flex_attention import flex_attention as flex
    except ImportError as error:
        raise NotAvailable(
            "FlexAttention needs torch 2.5 or later: pip install -U torch"
        ) from error
    _need_compiler()
    compiled: Callable[..., Any] = torch.compile(flex, dynamic=False)

    def run(prepared: _Cache, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        q, grouped = _append(prepared, inputs)
        attended = compiled(q, prepared.k, prepared.v, enable_gqa=grouped)
        out["out"].view(q.shape).copy_(attended)

    return Solution(name="flex_attention", prepare=_pack, run=run)


def _need_compiler() -> None:
    import shutil

    if not torch.cuda.is_available() and not (shutil.which("g++") or shutil.which("clang++")):
        raise NotAvailable("FlexAttention on the processor needs a C++ compiler: install g++")


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "flex_attention": flex_attention,
}
