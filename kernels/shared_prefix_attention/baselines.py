"""What one gets off the shelf.

`sdpa` and `flex_attention`: each sequence keeps a KV cache of its own, prompt included.
FlashInfer: one paged cache in which the prompt's pages are shared.
"""

from __future__ import annotations

import importlib.util
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


# Tokens of a page: FlashInfer's own examples and most serving stacks use 16.
PAGE = 16
# What FlashInfer asks for to keep partial results in.
WORKSPACE_BYTES = 128 << 20


@dataclass(frozen=True)
class _Pages:
    """One table of pages: the prompt's, then each sequence's own with a free slot."""

    k: Tensor  # [pages, kv_heads, PAGE, head_dim]
    v: Tensor
    k_slot: Tensor  # [batch, kv_heads, head_dim]: where the new token goes
    v_slot: Tensor
    attend: Any  # planned for these sizes


def _paged(prefix: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """The prompt and own tokens as pages, and the view of every sequence's free slot."""
    batch, kv_heads, own_len, width = own.shape
    shared, each = -(-prefix.shape[1] // PAGE), own_len // PAGE + 1
    pages = own.new_zeros(shared + batch * each, kv_heads, PAGE, width)

    def whole(tokens: Tensor, count: int) -> Tensor:
        room = tokens.new_zeros(*tokens.shape[:-2], count * PAGE, width)
        room[..., : tokens.shape[-2], :] = tokens
        return room.unflatten(-2, (count, PAGE))

    pages[:shared] = whole(prefix, shared).transpose(0, 1)
    mine = pages[shared:].view(batch, each, kv_heads, PAGE, width)
    mine.copy_(whole(own, each).transpose(1, 2))
    return pages, mine[:, own_len // PAGE, :, own_len % PAGE]


def _prepare_cascade(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Pages:
    import flashinfer

    k, k_slot = _paged(state["prefix_k"], state["own_k"])
    v, v_slot = _paged(state["prefix_v"], state["own_v"])
    batch, shared, each = axes["batch"], -(-axes["prefix_len"] // PAGE), axes["own_len"] // PAGE + 1

    def whole(*numbers: int) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=k.device)

    sequences = torch.arange(batch + 1, dtype=torch.int32, device=k.device)
    pages = torch.arange(k.shape[0], dtype=torch.int32, device=k.device)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=k.device)
    attend = flashinfer.MultiLevelCascadeAttentionWrapper(2, workspace, "HND")
    attend.plan(
        [whole(0, batch), sequences],
        [whole(0, shared), sequences * each],
        [pages[:shared], pages[shared:]],
        [
            whole((axes["prefix_len"] - 1) % PAGE + 1),
            whole(axes["own_len"] % PAGE + 1).expand(batch).contiguous(),
        ],
        axes["heads"],
        axes["kv_heads"],
        axes["head_dim"],
        PAGE,
        q_data_type=k.dtype,
    )
    return _Pages(k=k, v=v, k_slot=k_slot, v_slot=v_slot, attend=attend)


def _run_cascade(prepared: _Pages, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    prepared.k_slot.copy_(inputs["k_new"])
    prepared.v_slot.copy_(inputs["v_new"])
    attended = prepared.attend.run(inputs["q"].contiguous(), (prepared.k, prepared.v))
    out["out"].copy_(attended)


def flashinfer_cascade() -> Solution:
    """FlashInfer's cascade as it is shipped: both levels by its prefill kernel, then a merge."""
    _need_flashinfer()
    return Solution(name="flashinfer_cascade", prepare=_prepare_cascade, run=_run_cascade)


def _need_flashinfer() -> None:
    if not torch.cuda.is_available():
        raise NotAvailable("FlashInfer needs a CUDA GPU")
    if importlib.util.find_spec("flashinfer") is None:
        raise NotAvailable("FlashInfer is not installed: pip install flashinfer-python")


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "flex_attention": flex_attention,
    "flashinfer_cascade": flashinfer_cascade,
}
