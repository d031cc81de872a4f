"""What one gets off the shelf for a SwiGLU feed-forward network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


@dataclass(frozen=True)
class _Weights:
    gate: Tensor  # [ffn, hidden]
    up: Tensor  # [ffn, hidden]
    joint: Tensor  # [2 * ffn, hidden], both of them
    down: Tensor  # [hidden, ffn]


def _prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Weights:
    gate, up = state["w_gate_up"]
    return _Weights(gate=gate, up=up, joint=state["w_gate_up"].flatten(0, 1), down=state["w_down"])


def _three(weights: _Weights, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    x = inputs["x"]
    inner = F.silu(F.linear(x, weights.gate)).mul_(F.linear(x, weights.up))
    torch.mm(inner, weights.down.T, out=out["out"])


def three_matmuls() -> Solution:
    """A matmul each, silu and multiply between them."""
    return Solution(name="three_matmuls", prepare=_prepare, run=_three)


def _inner(x: Tensor, joint: Tensor) -> Tensor:
    gate, up = F.linear(x, joint).chunk(2, -1)
    return F.silu(gate) * up


def joint_matmul() -> Solution:
    """Gate and up in one matmul."""

    def run(weights: _Weights, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.mm(_inner(inputs["x"], weights.joint), weights.down.T, out=out["out"])

    return Solution(name="joint_matmul", prepare=_prepare, run=run)


def compiled() -> Solution:
    """Gate and up in one matmul; torch.compile makes one kernel of silu and multiply."""
    if not torch.cuda.is_available():
        raise NotAvailable("compiled is for CUDA GPUs; on the processor use joint_matmul")
    fused: Callable[..., Any] = torch.compile(_inner, dynamic=False)

    def run(weights: _Weights, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        torch.mm(fused(inputs["x"], weights.joint), weights.down.T, out=out["out"])

    return Solution(name="compiled", prepare=_prepare, run=run)


def liger_swiglu() -> Solution:
    """Liger's fused silu and multiply between cuBLAS's matmuls."""
    try:
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    except ImportError as error:
        raise NotAvailable("liger_swiglu needs Liger: pip install liger-kernel") from error
    if not torch.cuda.is_available():
        raise NotAvailable("liger_swiglu needs a CUDA GPU")

    def run(weights: _Weights, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        x = inputs["x"]
        inner = LigerSiLUMulFunction.apply(F.linear(x, weights.gate), F.linear(x, weights.up))
        torch.mm(inner, weights.down.T, out=out["out"])

    return Solution(name="liger_swiglu", prepare=_prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "three_matmuls": three_matmuls,
    "joint_matmul": joint_matmul,
    "compiled": compiled,
    "liger_swiglu": liger_swiglu,
}
