"""The matrix product as plain data: axes, tensors, tolerances, cost. No torch here."""

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

ROWS = ("batch", "m", "k")

DEFINITION = Definition(
    operator="matmul_ladder",
    title="Matrix product",
    summary=(
        "c = a b for each of `batch` pairs of matrices, sums kept in fp32, rounded once. `b` is a "
        "weight and known beforehand; `a` may be strided along all but its last axis."
    ),
    axes={
        "batch": "pairs of matrices",
        "m": "rows of a and c",
        "n": "columns of b and c",
        "k": "length of the sums",
    },
    state=(TensorSpec(name="b", shape=("batch", "k", "n"), fan_in=("k",)),),
    inputs=(TensorSpec(name="a", shape=ROWS),),
    outputs=(TensorSpec(name="c", shape=("batch", "m", "n")),),
    program="squared_relu_mlp",
    program_state=(
        TensorSpec(name="norm", shape=("batch", "k"), distribution="ones"),
        TensorSpec(name="w_up", shape=("batch", "k", "n"), fan_in=("k",)),
        TensorSpec(name="w_down", shape=("batch", "n", "k"), fan_in=("n",)),
    ),
    program_inputs=(TensorSpec(name="x", shape=ROWS),),
    program_outputs=(TensorSpec(name="y", shape=ROWS),),
    chain={"x": "y"},
    # The down projection of the largest preset sums 24576 products; norm, both products and the
    # activation each store their result.
    tolerances=tolerances(terms=24576, roundings=4),
    operator_tolerances=operator_tolerances(terms=24576, roundings=4),
    held_back=HeldBack(
        # Not batch: each of its matrices has its own weight.
        free=("m",),
        strided=("m",),
        special=(
            SpecialValues(name="rows of zeros", contents={"a": Contents(scale=0.0)}),
            # A row's NaN must appear in its own row and nowhere else.
            SpecialValues(name="a NaN in a row", contents={"a": Contents(plant="nan")}),
            SpecialValues(name="an infinity in a row", contents={"a": Contents(plant="inf")}),
        ),
    ),
)

BASELINES = (
    Baseline(name="matmul", package="torch", title="torch.matmul: cuBLAS"),
    Baseline(
        name="compiled",
        package="torch",
        title="torch.compile with max-autotune: cuBLAS against inductor's own Triton templates",
    ),
)


def flops(axes: Axes) -> int:
    """Multiply-adds of one operator call, counted as two."""
    return 2 * axes["batch"] * axes["m"] * axes["n"] * axes["k"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: a and b read once, c written once."""
    m, n, k = axes["m"], axes["n"], axes["k"]
    return axes["batch"] * (m * k + k * n + m * n) * ITEM_BYTES[dtype]


def _workload(name: str, batch: int, m: int, n: int, k: int, *, weight: float) -> Workload:
    return Workload(name=name, axes={"batch": batch, "m": m, "n": n, "k": k}, weight=weight)


PRESETS = {
    "tiny": presets.tiny(
        title="Two products small enough for a test of the application",
        baseline="matmul",
        candidate="torch_slices",
        target=1.4,
        workloads=(_workload("2 of 6x16x48", 2, 6, 16, 48, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Square, skinny and odd products, in 8 GB",
        baseline="matmul",
        candidate="triton_6_autotuned",
        target=1.4,
        workloads=(
            _workload("2048 cubed", 1, 2048, 2048, 2048, weight=0.4),
            _workload("16 rows", 1, 16, 8192, 2048, weight=0.3),
            _workload("4 odd ones", 4, 517, 1031, 771, weight=0.3),
        ),
    ),
    # 6144 -> 24576 is the MLP of Nemotron-4 15B, which squares its ReLU (Parmar et al., 2024).
    "h200": presets.h200(
        title="Square, tall, skinny and odd products, one and several at a time",
        baseline="matmul",
        candidate="triton_6_autotuned",
        target=1.4,
        workloads=(
            _workload("8192 cubed", 1, 8192, 8192, 8192, weight=0.3),
            _workload("4096 rows of Nemotron-4", 1, 4096, 24576, 6144, weight=0.2),
            _workload("32 rows of Nemotron-4", 1, 32, 24576, 6144, weight=0.2),
            _workload("4095 cubed", 1, 4095, 4095, 4095, weight=0.15),
            _workload("16 odd ones", 16, 515, 1031, 771, weight=0.15),
        ),
        protocol=replace(protocols.H200_MANY, max_calls=32),
    ),
}
