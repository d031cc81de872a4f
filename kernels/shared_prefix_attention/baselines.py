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
class _Table:
    """One table of pages: the prompt's, then each sequence's own with a free slot.

    A level's plan is where its rows of q begin, where its lists of pages begin, the pages, and
    how many tokens the last page of each list holds.
    """

    k: Tensor  # [pages, kv_heads, PAGE, head_dim]
    v: Tensor
    k_slot: Tensor  # [batch, kv_heads, head_dim]: where the new token goes
    v_slot: Tensor
    shared: tuple[Tensor, ...]  # the prompt's plan: one list for all rows
    own: tuple[Tensor, ...]  # the sequences' plan: a list for each row
    sizes: tuple[int, ...]  # query heads, key heads, head_dim, PAGE


@dataclass(frozen=True)
class _Planned:
    table: _Table
    attend: Callable[[Tensor], Tensor]  # q [batch, heads, head_dim] to its attention


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


def _table(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Table:
    k, k_slot = _paged(state["prefix_k"], state["own_k"])
    v, v_slot = _paged(state["prefix_v"], state["own_v"])
    batch, prefix_len, own_len = axes["batch"], axes["prefix_len"], axes["own_len"]
    shared, each = -(-prefix_len // PAGE), own_len // PAGE + 1

    def whole(*numbers: int) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=k.device)

    rows = torch.arange(batch + 1, dtype=torch.int32, device=k.device)
    pages = torch.arange(k.shape[0], dtype=torch.int32, device=k.device)
    last_own = whole(own_len % PAGE + 1).repeat(batch)
    return _Table(
        k=k,
        v=v,
        k_slot=k_slot,
        v_slot=v_slot,
        shared=(
            whole(0, batch),
            whole(0, shared),
            pages[:shared],
            whole((prefix_len - 1) % PAGE + 1),
        ),
        own=(rows, rows * each, pages[shared:], last_own),
        sizes=(axes["heads"], axes["kv_heads"], axes["head_dim"], PAGE),
    )


def _workspace(table: _Table) -> Tensor:
    return torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=table.k.device)


def _run_planned(
    prepared: _Planned, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    table = prepared.table
    table.k_slot.copy_(inputs["k_new"])
    table.v_slot.copy_(inputs["v_new"])
    out["out"].copy_(prepared.attend(inputs["q"].contiguous()))


def _prepare_cascade(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Planned:
    import flashinfer

    table = _table(state, axes)
    wrapper = flashinfer.MultiLevelCascadeAttentionWrapper(2, _workspace(table), "HND")
    levels = [list(pair) for pair in zip(table.shared, table.own, strict=True)]
    wrapper.plan(*levels, *table.sizes, q_data_type=table.k.dtype)
    return _Planned(table=table, attend=lambda q: wrapper.run(q, (table.k, table.v)))


def flashinfer_cascade() -> Solution:
    """FlashInfer's cascade as it is shipped. On Hopper it takes its fa3 kernels for the prompt,
    which do not split a long list of keys over the multiprocessors.
    """
    _need_flashinfer()
    return Solution(name="flashinfer_cascade", prepare=_prepare_cascade, run=_run_planned)


def _prepare_parts(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Planned:
    import flashinfer

    table = _table(state, axes)
    prefill = flashinfer.BatchPrefillWithPagedKVCacheWrapper(
        _workspace(table), "HND", backend="fa2"
    )
    prefill.plan(*table.shared, *table.sizes, causal=False, q_data_type=table.k.dtype)
    decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
        _workspace(table), "HND", use_tensor_cores=True
    )
    decode.plan(*table.own[1:], *table.sizes, q_data_type=table.k.dtype)

    def attend(q: Tensor) -> Tensor:
        own, own_lse = decode.run(q, (table.k, table.v), return_lse=True)
        shared, shared_lse = prefill.run(q, (table.k, table.v), return_lse=True)
        flashinfer.merge_state_in_place(own, own_lse, shared, shared_lse)
        attended: Tensor = own
        return attended

    return _Planned(table=table, attend=attend)


def flashinfer_parts() -> Solution:
    """The cascade put together from FlashInfer's parts, with fa2 kernels, which do split."""
    _need_flashinfer()
    return Solution(name="flashinfer_parts", prepare=_prepare_parts, run=_run_planned)


def _need_flashinfer() -> None:
    if not torch.cuda.is_available():
        raise NotAvailable("FlashInfer needs a CUDA GPU")
    if importlib.util.find_spec("flashinfer") is None:
        raise NotAvailable("FlashInfer is not installed: pip install flashinfer-python")


BASELINES: dict[str, Callable[[], Solution]] = {
    "sdpa": sdpa,
    "flex_attention": flex_attention,
    "flashinfer_cascade": flashinfer_cascade,
    "flashinfer_parts": flashinfer_parts,
}
