"""The sum in plain torch: what a candidate looks like before anybody writes a kernel."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> None:
    """Untimed. A kernel with weights lays them out here; this one has none."""


def run(prepared: None, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Timed: queue one call that writes every element of out["out"] [length]."""
    torch.add(inputs["x"], inputs["y"], out=out["out"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """A sum hands its gradient on to both of its terms."""
    return {"x": grads["out"], "y": grads["out"]}
