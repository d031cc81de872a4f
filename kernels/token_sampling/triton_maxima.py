"""Sampling in two Triton launches: maxima of groups of logits, then the few groups that matter.

`_maxima` reads the vocabulary once, at the memory's speed. The most_k largest logits are in the
most_k groups with the largest maxima, as any other group has that many numbers before all of its
own. So `_choose`, one program a row, finds these groups, reads them again and finds the logits.
Both times it halves an interval of keys until exactly most_k are above it; a key is a number's
order and its place, so that no two are equal. Ranks are counted, as 64 numbers need no sort.
`run` reads nothing on the host, allocates nothing and may be captured in a CUDA graph. Under
TRITON_INTERPRET=1 it runs on the processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_maxima needs Triton: pip install triton") from error

GROUP = 128
# Most tokens of a vocabulary: a key has a number's order above 20 bits for its place.
MOST_PLACES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Config:
    """Groups of a program that finds maxima, and warps of a program that chooses."""

    groups: int
    warps: int


CONFIGS = tuple(
    Config(groups=groups, warps=warps) for groups, warps in ((32, 8), (32, 16), (16, 8), (64, 16))
)


@dataclass(frozen=True)
class _Prepared:
    maxima: Tensor  # [batch, groups] in fp32
    chosen: Tensor  # [batch, most_k]: groups
    keys: Tensor  # [batch, most_k]
    config: Config


@triton.jit
def _maxima(
    logits_ptr, maxima_ptr, stride, vocab, groups, GROUPS: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    row = tl.program_id(1).to(tl.int64)
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    place = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    number = tl.load(logits_ptr + row * stride + place, mask=place < vocab, other=float("-inf"))
    tl.store(maxima_ptr + row * groups + group, tl.max(number, 1), mask=group < groups)


@triton.jit
def _key(number, place, inside):
    """A number's order, and above an equal one's if its place is before; lowest outside."""
    # A negative zero equals a zero.
    bits = (number + 0.0).to(tl.int32, bitcast=True)
    order = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.int64)
    key = (order << 20) + (0xFFFFF - place)
    return tl.where(inside, key, -(1 << 62))


@triton.jit
def _bound(key, COUNT: tl.constexpr):
    """The least key of the COUNT largest."""
    low, high = tl.min(key, 0), tl.max(key, 0) + 1
    middle = low
    found = tl.sum((key >= middle).to(tl.int32), 0)
    while found != COUNT:
        if found > COUNT:
            low = middle
        else:
            high = middle
        middle = low + ((high - low) >> 1)
        found = tl.sum((key >= middle).to(tl.int32), 0)
    return middle


@triton.jit
def _choose(
    logits_ptr, temperature_ptr, top_k_ptr, top_p_ptr, chance_ptr,
    maxima_ptr, chosen_ptr, keys_ptr, token_ptr, probability_ptr,
    stride, stride_temperature, stride_top_k, stride_top_p, stride_chance, vocab, groups,
    MOST: tl.constexpr, MOST_GROUPS: tl.constexpr, PADDED: tl.constexpr,
    PADDED_GROUPS: tl.constexpr, EVERY: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    group = tl.arange(0, EVERY)
    exists = group < groups
    top = tl.load(maxima_ptr + row * groups + group, mask=exists, other=0.0)
    key = _key(top, group, exists)
    taken = key >= _bound(key, MOST_GROUPS)
    at = chosen_ptr + row * MOST + tl.cumsum(taken.to(tl.int32), 0) - 1
    tl.store(at, group, mask=taken)
    tl.debug_barrier()

    place = tl.arange(0, PADDED_GROUPS * GROUP)
    number = place // GROUP
    known = number < MOST_GROUPS
    own = tl.load(chosen_ptr + row * MOST + number, mask=known, other=0)
    place = own * GROUP + place % GROUP
    known = known & (place < vocab)
    logit = tl.load(logits_ptr + row * stride + place, mask=known, other=0.0)
    key = _key(logit, place, known)
    taken = key >= _bound(key, MOST)
    at = keys_ptr + row * MOST + tl.cumsum(taken.to(tl.int32), 0) - 1
    tl.store(at, key, mask=taken)
    tl.debug_barrier()

    # Of a pair of the few, one is a row and the other a column.
    few = tl.arange(0, PADDED)
    here = few < MOST
    key = tl.load(keys_ptr + row * MOST + few, mask=here, other=-(1 << 62))
    rank = tl.sum((key[None, :] > key[:, None]).to(tl.int32), 1)
    order = (key >> 20).to(tl.int32)
    logit = (order ^ ((order >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    word = 0xFFFFF - (key & 0xFFFFF).to(tl.int32)
    top_k = tl.load(top_k_ptr + row * stride_top_k)
    temperature = tl.load(temperature_ptr + row * stride_temperature).to(tl.float32)
    allowed = here & (rank <= top_k)
    logit = tl.where(allowed, logit, float("-inf"))
    power = tl.div_rn(logit - tl.max(logit, 0), tl.maximum(temperature, 0.01))
    share = tl.where(allowed, tl.exp(power), 0.0)
    share /= tl.sum(share, 0)
    before = tl.sum(tl.where(key[None, :] > key[:, None], share[None, :], 0.0), 1)
    top_p = tl.load(top_p_ptr + row * stride_top_p).to(tl.float32)
    kept = allowed & (share > 0.0) & ((before < top_p) | (rank == 0))
    whole = tl.sum(tl.where(kept, share, 0.0), 0)
    probability = tl.where(kept, share / whole, 0.0)
    tl.store(probability_ptr + row * MOST + rank, probability, mask=here)
    chance = tl.load(chance_ptr + row * stride_chance) * whole
    passed = tl.sum((kept & (before + share <= chance)).to(tl.int32), 0)
    picked = tl.minimum(passed, tl.sum(kept.to(tl.int32), 0) - 1)
    tl.store(token_ptr + row, tl.sum(tl.where(rank == picked, word, 0), 0))


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    return {f"g{one.groups} w{one.warps}": one for one in CONFIGS}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Room for maxima, groups and keys, and the quickest cut. NotAvailable without a CUDA GPU."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not torch.cuda.is_available() and not interpreted:
        raise NotAvailable("triton_maxima needs a CUDA GPU; on the processor use torch_maxima")
    if axes["vocab"] > MOST_PLACES:
        raise NotAvailable("triton_maxima needs a vocabulary of at most 2**20 tokens")
    device = "cpu" if interpreted else "cuda"
    if config is None:
        trial = _trial(axes, device)
        config = tuning.best(
            source=__file__,
            key=(axes["batch"], axes["vocab"], axes["most_k"]),
            configs=CONFIGS,
            run=lambda one: run(_with(axes, device, one), trial, trial),
        )
    return _with(axes, device, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["token"] [batch] and out["probability"] [batch, most_k]."""
    logits, config = inputs["logits"], prepared.config
    request = [inputs[name] for name in ("temperature", "top_k", "top_p", "chance")]
    batch, vocab = logits.shape
    groups, most = prepared.maxima.shape[1], prepared.keys.shape[1]
    most_groups = min(most, groups)
    _maxima[(triton.cdiv(groups, config.groups), batch)](
        logits, prepared.maxima, logits.stride(0), vocab, groups,
        GROUPS=config.groups, GROUP=GROUP, num_warps=4,
    )  # fmt: skip
    _choose[(batch,)](
        logits, *request, prepared.maxima, prepared.chosen, prepared.keys, out["token"],
        out["probability"], logits.stride(0), *(tensor.stride(0) for tensor in request),
        vocab, groups,
        MOST=most, MOST_GROUPS=most_groups, PADDED=triton.next_power_of_2(most),
        PADDED_GROUPS=triton.next_power_of_2(most_groups), EVERY=triton.next_power_of_2(groups),
        GROUP=GROUP, num_warps=config.warps,
    )  # fmt: skip


def _with(axes: Mapping[str, int], device: str, config: Config) -> _Prepared:
    batch, most = axes["batch"], axes["most_k"]
    return _Prepared(
        maxima=torch.empty(batch, triton.cdiv(axes["vocab"], GROUP), device=device),
        chosen=torch.empty(batch, most, dtype=torch.int32, device=device),
        keys=torch.empty(batch, most, dtype=torch.int64, device=device),
        config=config,
    )


def _trial(axes: Mapping[str, int], device: str) -> dict[str, Tensor]:
    """Inputs and outputs of a call for tuning."""
    batch, most = axes["batch"], axes["most_k"]
    return {
        "logits": torch.empty(batch, axes["vocab"], device=device).normal_(),
        "temperature": torch.ones(batch, device=device, dtype=torch.bfloat16),
        "top_k": torch.full((batch,), most - 1, dtype=torch.int32, device=device),
        "top_p": torch.ones(batch, device=device, dtype=torch.bfloat16),
        "chance": torch.full((batch,), 0.5, device=device),
        "token": torch.empty(batch, dtype=torch.int32, device=device),
        "probability": torch.empty(batch, most, device=device),
    }
