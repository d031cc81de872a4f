"""softmax of torch."""

import torch


def prepare(state, axes):
    """Untimed."""
    return state["bias"]


def run(prepared, inputs, out):
    """Timed: write every element of every output."""
    torch.softmax(inputs["x"] + prepared, -1, out=out["y"])
