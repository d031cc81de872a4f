"""torch's fused attention. A candidate looks the same."""

import torch.nn.functional as F


def prepare(state, axes):
    """Untimed: lay out the state; there is none."""


def run(prepared, inputs, out):
    """Timed: write every element of every output."""
    q, k, v = (inputs[name][None] for name in "qkv")
    out["o"].copy_(F.scaled_dot_product_attention(q, k, v, is_causal=True)[0])
