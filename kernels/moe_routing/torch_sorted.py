"""Choices sorted by expert once, then one pair of matmuls an expert over rows that lie together.

For the processor, where reading the loads costs nothing. On a GPU it runs, but not in a CUDA
graph: triton_grouped and cuda_gluon read the loads on the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.moe_routing.backward import expert_gradients
from kernels.moe_routing.choice import Router


@dataclass(frozen=True)
class _Layer:
    router: Router
    gate_up: Tensor  # [experts, 2 * inner, hidden]
    down: Tensor  # [experts, hidden, inner]


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Layer:
    """Keep the weights as they are."""
    return _Layer(
        router=Router.of(axes, state["w_down"].device),
        gate_up=state["w_gate_up"].flatten(1, 2),
        down=state["w_down"],
    )


def run(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through their experts; writes all of out["out"]."""
    x = inputs["x"]
    if x.is_cuda and torch.cuda.is_current_stream_capturing():
        raise NotAvailable("torch_sorted reads the loads on the host: no CUDA graph")
    share, chosen = layer.router.choose(inputs["router_logits"])
    order, begins = layer.router.sort(chosen)
    token = order // chosen.shape[1]
    packed = x[token]
    loads = begins.diff().tolist()
    for expert, rows in enumerate(packed.split(loads)):
        if not len(rows):
            continue
        gate, up = F.linear(rows, layer.gate_up[expert]).chunk(2, -1)
        # What an expert gives takes the place of what it was given.
        torch.mm(F.silu(gate).mul_(up), layer.down[expert].T, out=rows)
    packed.mul_(share.flatten()[order].unsqueeze(1).to(packed.dtype))
    out["out"].zero_()
    out["out"].index_add_(0, token, packed)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Of both weights, x and router_logits."""
    return expert_gradients(state, inputs, grads["out"], axes)
