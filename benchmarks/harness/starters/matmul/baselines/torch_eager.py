"""torch's matrix product, then its activation. A candidate looks the same."""

import torch
import torch.nn.functional as F


def prepare(state, axes):
    """Untimed: lay out the state."""
    return state["weight"]


def run(prepared, inputs, out):
    """Timed: write every element of every output."""
    out["y"].copy_(F.gelu(torch.mm(inputs["x"], prepared)))
