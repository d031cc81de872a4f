"""The product, `candidate_units` times: the same code as the baseline's."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    """The weights, and how often to multiply by them."""
    return state["w"], axes["candidate_units"]


def run(prepared: Any, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Compute a product for every unit; the last one, which stays, is with w[0]."""
    w, units = prepared
    x, y = inputs["x"], out["y"]
    for unit in reversed(range(units)):
        torch.mm(x, w[unit % len(w)], out=y)
