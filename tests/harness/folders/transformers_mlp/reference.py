"""What the MLP and the model should give, in float64."""

import torch
import torch.nn.functional as F


def reference(state, inputs, axes):
    """`y` [tokens, hidden]."""
    gate, up, down = (state[name].double() for name in ("gate", "up", "down"))
    x = inputs["x"].double()
    return {"y": (F.silu(x @ gate.T) * (x @ up.T)) @ down.T}


def reference_step(*, state, inputs, axes):
    """The model written out: attention with rotary positions, MLP, norms."""
    x = inputs["x"].double()
    tokens, hidden = x.shape
    heads, width = 4, hidden // 4
    query, key, value, output = state["attention"].double()
    normed = _norm(x)
    parts = [(normed @ each.T).view(tokens, heads, width).transpose(0, 1) for each in (query, key)]
    rotated = [_rotated(each) for each in parts]
    values = (normed @ value.T).view(tokens, heads, width).transpose(0, 1)
    mixed = F.scaled_dot_product_attention(*rotated, values, is_causal=True)
    x = x + mixed.transpose(0, 1).reshape(tokens, hidden) @ output.T
    x = x + reference(state, {"x": _norm(x)}, axes)["y"]
    return {"y": _norm(x)}


def _norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def _rotated(x):
    tokens, width = x.shape[1:]
    steps = torch.arange(0, width, 2, dtype=torch.float64, device=x.device) / width
    angles = torch.arange(tokens, dtype=torch.float64, device=x.device)[:, None] / 10_000.0**steps
    angles = torch.cat([angles, angles], -1)
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()
