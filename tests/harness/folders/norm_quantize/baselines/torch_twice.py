"""A slower baseline: everything twice."""

import torch


def prepare(state, axes):
    """Untimed."""
    return state["weight"]


def run(weight, inputs, out):
    """Timed: write every element of every output."""
    for _ in range(12):
        total = torch.add(inputs["x"], inputs["residual"], out=out["sum"])
        inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5)
        normed = total * inverse * weight
        scale = torch.div(normed.abs().amax(-1).clamp(min=1e-10), 127, out=out["scale"])
        out["q"].copy_((normed / scale[:, None]).round().clamp(-127, 127))
