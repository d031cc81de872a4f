"""The expected results of the operator and its step, in float64."""

import torch


def reference(state, inputs, axes):
    """`o` [heads, tokens, head_dim]."""
    q, k, v = (inputs[name].double() for name in "qkv")
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return {"o": torch.softmax(scores.masked_fill(later, -torch.inf), -1) @ v}


def reference_step(*, state, inputs, axes):
    """Attention, then the projection."""
    return {"o": reference({}, inputs, axes)["o"] @ state["projection"].double()}
