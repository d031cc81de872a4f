"""What torch alone gives: a sequence's pages gathered into a row, then cuBLAS and a softmax.

torch's attention takes heads of up to 256, and these have 576.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


@dataclass(frozen=True)
class _Pages:
    cache: Tensor  # [pages, PAGE, entry_dim]
    latent_dim: int


# Rows after the tables' entries: the new one, and zeros that keep cuBLAS's rows aligned.
_MORE = 8


def _gather(cache: Tensor, table: Tensor, new: Tensor) -> Tensor:
    """Every entry of the tables, then the new one: [batch, tokens + 8, entry_dim]."""
    more = F.pad(new.unsqueeze(1), (0, 0, 0, _MORE - 1))
    return torch.cat([cache[table.long()].flatten(1, 2), more], 1)


def _softmax(score: Tensor, last: Tensor) -> Tensor:
    token = torch.arange(score.shape[2], device=score.device)
    seen = (token <= last[:, None]) | (token == score.shape[2] - _MORE)
    wide = score.float().masked_fill(~seen[:, None], float("-inf"))
    return torch.softmax(wide, -1).to(score.dtype)


def _by(
    name: str, gather: Callable[..., Tensor], softmax: Callable[[Tensor, Tensor], Tensor]
) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Pages:
        return _Pages(cache=state["cache"], latent_dim=axes["latent_dim"])

    def run(pages: _Pages, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        keys = gather(pages.cache, inputs["page_table"], inputs["new"])
        score = torch.bmm(inputs["q"], keys.transpose(1, 2))
        share = softmax(score, inputs["last"])
        torch.bmm(share, keys[..., : pages.latent_dim], out=out["out"])

    return Solution(name=name, prepare=prepare, run=run)


def gathered() -> Solution:
    """Operation by operation."""
    return _by("gathered", _gather, _softmax)


def compiled() -> Solution:
    """The gathering and the masked softmax as torch.compile makes them."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")
    return _by(
        "compiled",
        torch.compile(_gather, dynamic=False),
        torch.compile(_softmax, dynamic=False),
    )


BASELINES: dict[str, Callable[[], Solution]] = {"gathered": gathered, "compiled": compiled}
