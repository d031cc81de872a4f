"""What one gets off the shelf, from three separate operators to the library's own epilogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def _as_it_is(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Mapping[str, Tensor]:
    return state


def _run_linear(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    torch.addmm(state["bias"], inputs["x"], state["w"].T, out=out["y"])
    out["y"].relu_()


def linear_relu() -> Solution:
    """F.linear's own operator into the output, then relu over it in place."""
    return Solution(name="linear_relu", prepare=_as_it_is, run=_run_linear)


def _run_three(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    summed = torch.matmul(inputs["x"], state["w"].T)
    torch.clamp_min(summed + state["bias"], 0.0, out=out["y"])


def three_ops() -> Solution:
    """Each operator by itself; the last one writes the output."""
    return Solution(name="three_ops", prepare=_as_it_is, run=_run_three)


def _run_epilogue(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
) -> None:
    torch._addmm_activation(state["bias"], inputs["x"], state["w"].T, out=out["y"])


def epilogue() -> Solution:
    """cuBLASLt's epilogue RELU_BIAS, which torch reaches by a private name."""
    if not torch.cuda.is_available():
        raise NotAvailable("cuBLASLt's epilogue needs a CUDA GPU; on the processor: linear_relu")
    return Solution(name="epilogue", prepare=_as_it_is, run=_run_epilogue)


def compiled() -> Solution:
    """What inductor makes of it, its own Triton templates tried beside cuBLAS."""
    if not torch.cuda.is_available():
        raise NotAvailable("inductor's templates of a matrix product need a CUDA GPU")

    def layer(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
        return F.relu(F.linear(x, w, bias))

    quick = torch.compile(layer, dynamic=False, mode="max-autotune-no-cudagraphs")

    def run(
        state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        out["y"].copy_(quick(inputs["x"], state["w"], state["bias"]))

    return Solution(name="compiled", prepare=_as_it_is, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {
    "linear_relu": linear_relu,
    "three_ops": three_ops,
    "epilogue": epilogue,
    "compiled": compiled,
}
