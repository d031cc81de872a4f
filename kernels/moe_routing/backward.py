"""The backward pass of every candidate in torch, without a read on the host."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.moe_routing.choice import Router

DIFFERENTIABLE = ("w_gate_up", "w_down", "x", "router_logits")


def expert_gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    grad: Tensor,
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Gradients of both weights, x and router_logits for that of out [tokens, hidden].

    The choice of experts has none. The forward pass keeps no inner state, so it is recomputed by
    torch's grouped matmul: about 1.5 times the operations of a backward pass with stored ones.
    """
    given = {**state, **inputs}
    leaves = {name: given[name].detach().requires_grad_() for name in DIFFERENTIABLE}
    with torch.enable_grad():
        result = _forward(leaves, axes)
    found = torch.autograd.grad(result, list(leaves.values()), grad)
    return dict(zip(leaves, found, strict=True))


def _forward(given: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
    x = given["x"]
    router = Router.of(axes, x.device)
    share, chosen = router.choose(given["router_logits"])
    order, begins = router.sort(chosen)
    ends = begins[1:].to(torch.int32)
    token = order // axes["top_k"]
    gate_up = torch._grouped_mm(x[token], given["w_gate_up"].flatten(1, 2).mT, offs=ends)
    gate, up = gate_up.chunk(2, -1)
    each = torch._grouped_mm(F.silu(gate) * up, given["w_down"].mT, offs=ends)
    weighed = each * share.flatten()[order].unsqueeze(1).to(each.dtype)
    return torch.zeros_like(x).index_add(0, token, weighed)
