"""The router in plain torch: choose experts for each token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


def popularity(axes: Mapping[str, int], device: torch.device) -> Tensor:
    """Log-popularity by Zipf's law, added to every token's logits: fp32 [experts]."""
    rank = torch.arange(axes["experts"], device=device, dtype=torch.float64)
    return (-axes["zipf_percent"] / 100 * torch.log1p(rank)).float()


@dataclass(frozen=True)
class Router:
    """Choose experts by score and sort the choices by expert, without a read on the host."""

    popularity: Tensor  # [experts]
    experts: Tensor  # 0 to the number of experts, inclusive
    top_k: int

    @classmethod
    def of(cls, axes: Mapping[str, int], device: torch.device) -> Router:
        """The router of one layer."""
        bounds = torch.arange(axes["experts"] + 1, device=device)
        return cls(popularity=popularity(axes, device), experts=bounds, top_k=axes["top_k"])

    def choose(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Weights (fp32, adding up to 1) and experts, each [tokens, top_k]."""
        scores, chosen = (logits + self.popularity).topk(self.top_k, 1)
        return scores.softmax(1), chosen

    def sort(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """The choices' order by expert [tokens * top_k], and where each expert's begin.

        The second has [experts + 1] elements; the last is the number of choices.
        """
        ordered, order = chosen.flatten().sort(stable=True)
        return order, torch.searchsorted(ordered, self.experts)
