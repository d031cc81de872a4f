"""Linear layer, bias and ReLU as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from dataclasses import replace

from kernels import presets, protocols
from kernels.definition import (
    ITEM_BYTES,
    Axes,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    SpecialValues,
    TensorSpec,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

DEFINITION = Definition(
    operator="fused_linear_relu",
    title="Linear layer with bias and ReLU",
    summary=(
        "y = relu(x w^T + bias), the sum kept in fp32 and rounded once, after the ReLU. `w` lies "
        "as nn.Linear keeps it; `x` may be strided along its rows."
    ),
    axes={
        "batch": "rows: tokens of all sequences together",
        "hidden": "columns of x",
        "ffn": "columns of y",
        "layers": "layers of the step",
    },
    state=(
        TensorSpec(name="w", shape=("ffn", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="bias", shape=("ffn",)),
    ),
    inputs=(TensorSpec(name="x", shape=("batch", "hidden")),),
    outputs=(TensorSpec(name="y", shape=("batch", "ffn")),),
    program="relu_mlp",
    program_state=(
        TensorSpec(name="norm", shape=("layers", "hidden"), distribution="ones"),
        TensorSpec(name="norm_bias", shape=("layers", "hidden")),
        TensorSpec(name="w_up", shape=("layers", "ffn", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="bias_up", shape=("layers", "ffn")),
        TensorSpec(name="w_down", shape=("layers", "hidden", "ffn"), fan_in=("ffn",)),
        TensorSpec(name="bias_down", shape=("layers", "hidden")),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")),),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")),),
    chain={"x": "y"},
    # The down projection sums 16384 products; norm, both products and the residual are stored.
    tolerances=tolerances(terms=16384, roundings=4),
    operator_tolerances=operator_tolerances(terms=16384, roundings=4),
    held_back=HeldBack(
        free=("batch",),
        strided=("batch",),
        special=(
            # The bias alone decides the output of the ReLU.
            SpecialValues(name="rows of zeros", contents={"x": Contents(scale=0.0)}),
            # ReLU keeps NaN, where a maximum could drop it.
            SpecialValues(name="a NaN in a row", contents={"x": Contents(plant="nan")}),
            SpecialValues(name="an infinite bias", contents={"bias": Contents(plant="inf")}),
        ),
    ),
)

BASELINES = (
    Baseline(
        name="linear_relu",
        package="torch",
        title="F.linear, the bias added by cuBLASLt, then relu in place",
    ),
    Baseline(
        name="three_ops",
        package="torch",
        title="matmul, addition and relu, one after another: what the claim is made against",
    ),
    Baseline(
        name="epilogue",
        package="torch",
        title="torch._addmm_activation: bias and ReLU in cuBLASLt's own epilogue",
    ),
    Baseline(
        name="compiled",
        package="torch",
        title="F.linear and relu under torch.compile, max-autotune",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two; bias and ReLU do not count."""
    return 2 * axes["batch"] * axes["hidden"] * axes["ffn"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: x, w and bias read once, y written once."""
    batch, hidden, ffn = axes["batch"], axes["hidden"], axes["ffn"]
    return (batch * hidden + ffn * hidden + ffn + batch * ffn) * ITEM_BYTES[dtype]


def _workload(batch: int, hidden: int, ffn: int, *, layers: int, weight: float) -> Workload:
    axes = {"batch": batch, "hidden": hidden, "ffn": ffn, "layers": layers}
    return Workload(name=f"{batch} x {hidden} to {ffn}", axes=axes, weight=weight)


PRESETS = {
    "tiny": presets.tiny(
        title="An MLP small enough for a test of the application",
        baseline="linear_relu",
        candidate="torch_epilogue",
        workloads=(_workload(24, 40, 64, layers=2, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="The MLP of OPT-1.3B and two small ones, in 8 GB",
        baseline="linear_relu",
        candidate="triton_epilogue",
        workloads=(
            _workload(16, 2048, 8192, layers=2, weight=0.4),
            _workload(2048, 2048, 8192, layers=2, weight=0.3),
            _workload(4096, 256, 256, layers=2, weight=0.3),
        ),
    ),
    # OPT-6.7B: hidden 4096, ffn 16384, biases and ReLU (Zhang et al., OPT, 2022, table 1). The
    # small ones have the sizes of ranking and control models.
    "h200": presets.h200(
        title="The MLP of OPT-6.7B from one token to prefill, a square and two small ones",
        baseline="epilogue",
        candidate="triton_epilogue",
        workloads=(
            _workload(1, 4096, 16384, layers=2, weight=0.15),
            _workload(32, 4096, 16384, layers=2, weight=0.2),
            _workload(512, 4096, 16384, layers=2, weight=0.15),
            _workload(4096, 4096, 16384, layers=2, weight=0.15),
            _workload(8192, 8192, 8192, layers=1, weight=0.15),
            _workload(4096, 512, 512, layers=2, weight=0.1),
            _workload(65536, 256, 256, layers=2, weight=0.1),
        ),
        protocol=replace(protocols.H200_MANY, max_calls=32),
    ),
}
