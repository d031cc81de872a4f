"""What torch gives: its own top-k or a whole sort, then the probabilities of the few.

FlashInfer's sampling draws its own random numbers, so that its tokens cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.separate import separate
from kernels.solutions import Solution

COLDEST = 0.01

Largest = Callable[[Tensor, int], tuple[Tensor, Tensor]]


def choose(
    values: Tensor,
    ids: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    chance: Tensor,
    token: Tensor,
    probability: Tensor,
) -> None:
    """Probabilities of a row's largest logits, in falling order, and one of their tokens."""
    rank = torch.arange(values.shape[1], device=values.device)
    scaled = values / temperature.float().clamp(min=COLDEST)[:, None]
    scaled = scaled.masked_fill(rank > top_k[:, None], float("-inf"))
    share = torch.softmax(scaled, -1)
    before = share.cumsum(-1) - share
    kept = share.masked_fill((before >= top_p.float()[:, None]) & (rank > 0), 0.0)
    found = kept / kept.sum(-1, keepdim=True)
    passed = (found.cumsum(-1) <= chance[:, None]).sum(-1)
    place = torch.minimum(passed, (kept > 0).sum(-1) - 1)
    probability.copy_(found)
    token.copy_(ids.gather(1, place[:, None])[:, 0])


def _largest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    found = torch.topk(logits, count)
    return found.values, found.indices


def _sorted(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    found = torch.sort(logits, -1, descending=True)
    return found.values[:, :count], found.indices[:, :count]


def _by(name: str, largest: Largest, finish: Callable[..., None]) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> int:
        return axes["most_k"]

    def run(most_k: int, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        request = (inputs[part] for part in ("temperature", "top_k", "top_p", "chance"))
        results = separate(out["token"], out["probability"])
        finish(*largest(inputs["logits"], most_k), *request, *results)

    return Solution(name=name, prepare=prepare, run=run)


def compiled() -> Solution:
    """torch.topk, which torch.compile does not replace, and one kernel for all the rest."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")
    return _by("compiled", _largest, torch.compile(choose, dynamic=False))


BASELINES: dict[str, Callable[[], Solution]] = {
    "topk": partial(_by, "topk", _largest, choose),
    "compiled": compiled,
    "sort": partial(_by, "sort", _sorted, choose),
}
