"""Gate and up in one matmul, silu and multiply where its result lies, down into the output.

For the processor and as the plainest of the candidates: what is saved are temporaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.fused_ffn.backward import network_gradients


@dataclass(frozen=True)
class _Prepared:
    joint: Tensor  # [2 * ffn, hidden]
    down: Tensor  # [hidden, ffn]
    inner: Tensor  # [tokens, 2 * ffn]


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """Keep the weights as they are, lay out the inner state."""
    down = state["w_down"]
    return _Prepared(
        joint=state["w_gate_up"].flatten(0, 1),
        down=down,
        inner=down.new_empty(axes["tokens"], 2 * axes["ffn"]),
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through the network; writes all of out["out"]."""
    gate, up = torch.mm(inputs["x"], prepared.joint.T, out=prepared.inner).chunk(2, -1)
    F.silu(gate, inplace=True).mul_(up)
    torch.mm(gate, prepared.down.T, out=out["out"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Of both weights and x."""
    return network_gradients(state, inputs, grads["out"])
