"""torch, one operation at a time. A candidate looks the same."""

import torch

EPS = 1e-5


def prepare(state, axes):
    """Untimed: lay out the state."""
    return state["weight"]


def run(prepared, inputs, out):
    """Timed: write every element of every output."""
    total = torch.add(inputs["x"], inputs["residual"], out=out["sum"])
    inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + EPS)
    torch.mul(total * inverse, prepared, out=out["y"])
