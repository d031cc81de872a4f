"""A step of the gated delta rule as plain data: axes, tensors, tolerances, cost. No torch here."""

from __future__ import annotations

from kernels import presets, protocols
from kernels.definition import (
    ITEM_BYTES,
    Axes,
    Baseline,
    Contents,
    Definition,
    HeldBack,
    Slot,
    SpecialValues,
    TensorSpec,
    Workload,
)
from kernels.tolerances import operator_tolerances, tolerances

MEMORY_BYTES = 4
# Standard deviation of memory and values: with unit queries over sqrt(key_dim), results are near 1.
SIZE = 8.0

KEYS = ("batch", "key_heads", "key_dim")
VALUES = ("batch", "heads", "value_dim")
GATES = ("batch", "heads")


def _memory(name: str) -> TensorSpec:
    shape = ("batch", "heads", "key_dim", "value_dim")
    return TensorSpec(name=name, shape=shape, dtype="float32", scale=SIZE)


_GATING = (
    # exp of it is 1 to 15, as in trained models.
    TensorSpec(name="a_log", shape=("heads",), dtype="float32", distribution="uniform", scale=2.7),
    TensorSpec(name="dt_bias", shape=("heads",), dtype="float32"),
)

DEFINITION = Definition(
    operator="gated_delta_decode",
    title="Decoding step of the gated delta rule",
    summary=(
        "For each sequence and head, with q and k divided by sqrt(sum of squares + 1e-6), q also "
        "by sqrt(key_dim): decay = exp(-exp(a_log) softplus(a + dt_bias)); M = decay * memory; "
        "M += k (sigmoid(b) (v - M^T k))^T; memory_next = M; out = M^T q. Memory is float32 and "
        "so is the arithmetic. Head h has the queries and keys of key head "
        "h // (heads / key_heads). q, k, v, a and b may be strided along the batch."
    ),
    axes={
        "batch": "sequences decoded together",
        "heads": "heads with a memory and values",
        "key_heads": "heads of queries and keys",
        "key_dim": "width of a query and key",
        "value_dim": "width of a value",
        "hidden": "width of the hidden state",
        "projected": "2 key_heads key_dim + 2 heads value_dim + 2 heads",
    },
    state=_GATING,
    inputs=(
        TensorSpec(name="q", shape=KEYS),
        TensorSpec(name="k", shape=KEYS),
        TensorSpec(name="v", shape=VALUES, scale=SIZE),
        TensorSpec(name="a", shape=GATES),
        TensorSpec(name="b", shape=GATES),
        _memory("memory"),
    ),
    outputs=(TensorSpec(name="out", shape=VALUES), _memory("memory_next")),
    program="qwen3_next_linear_attention_step",
    program_state=(
        *_GATING,
        TensorSpec(name="norm", shape=("hidden",), distribution="ones"),
        TensorSpec(name="w_in", shape=("projected", "hidden"), fan_in=("hidden",)),
        TensorSpec(name="norm_out", shape=("value_dim",), distribution="ones"),
        TensorSpec(
            name="w_out", shape=("hidden", "heads", "value_dim"), fan_in=("heads", "value_dim")
        ),
    ),
    program_inputs=(TensorSpec(name="x", shape=("batch", "hidden")), _memory("memory")),
    program_outputs=(TensorSpec(name="y", shape=("batch", "hidden")), _memory("memory_next")),
    # The memory is not chained: signing it would cost as much as the operator.
    chain={"x": "y"},
    # The projections' sums; norm, projection, result, its norm, gate and projection are stored.
    tolerances=tolerances(terms=4096, roundings=6),
    operator_tolerances=operator_tolerances(terms=128, roundings=1),
    held_back=HeldBack(
        free=("batch",),
        strided=("batch",),
        special=(
            SpecialValues(name="keys of zeros", contents={"k": Contents(scale=0.0)}),
            SpecialValues(name="wide gates", contents={"a": Contents(scale=40.0)}),
            SpecialValues(name="an empty memory", contents={"memory": Contents(scale=0.0)}),
            # One query's NaN must appear in its own heads and nowhere else.
            SpecialValues(name="a NaN in a query", contents={"q": Contents(plant="nan")}),
        ),
    ),
)

BASELINES = (
    Baseline(name="eager", package="torch", title="the formula in torch, eager"),
    Baseline(name="compiled", package="torch", title="the same under torch.compile"),
    Baseline(
        name="fla",
        package="flash-linear-attention",
        title="FLA's fused_recurrent_gated_delta_rule, gates computed before it",
    ),
)


def flops(axes: Axes) -> int:
    """Operations of one call: decay, two products with the memory, its update."""
    return 7 * axes["batch"] * axes["heads"] * axes["key_dim"] * axes["value_dim"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Minimum traffic of one call: the memory read and written, queries, keys, values, gates."""
    heads = axes["batch"] * axes["heads"]
    memory = 2 * heads * axes["key_dim"] * axes["value_dim"] * MEMORY_BYTES
    keys = 2 * axes["batch"] * axes["key_heads"] * axes["key_dim"]
    return memory + (keys + 2 * heads * (axes["value_dim"] + 1)) * ITEM_BYTES[dtype]


def slots(axes: Axes) -> tuple[Slot, ...]:
    """One call a step."""
    return (Slot(axes=axes, calls=1),)


_QWEN3_NEXT = {"heads": 32, "key_heads": 16, "key_dim": 128, "value_dim": 128, "hidden": 2048}
_SMALL = {"heads": 2, "key_heads": 1, "key_dim": 24, "value_dim": 20, "hidden": 40}


def _workload(model: Axes, *, batch: int, weight: float) -> Workload:
    keys, values = model["key_heads"] * model["key_dim"], model["heads"] * model["value_dim"]
    projected = 2 * keys + 2 * values + 2 * model["heads"]
    axes = {"batch": batch, **model, "projected": projected}
    return Workload(name=f"{batch} sequences", axes=axes, weight=weight)


_TITLE = "Qwen3-Next-80B's linear attention, one layer, 128 and 32 sequences"
_DECODE = (
    _workload(_QWEN3_NEXT, batch=128, weight=0.6),
    _workload(_QWEN3_NEXT, batch=32, weight=0.4),
)

PRESETS = {
    "tiny": presets.tiny(
        title="Five sequences of two small heads",
        baseline="eager",
        candidate="torch_in_place",
        workloads=(_workload(_SMALL, batch=5, weight=1.0),),
    ),
    "cuda": presets.cuda(
        title="Qwen3-Next-80B's linear attention, one layer, 16 sequences",
        baseline="compiled",
        candidate="triton_columns",
        workloads=(_workload(_QWEN3_NEXT, batch=16, weight=1.0),),
    ),
    "h200": presets.h200(
        title=_TITLE,
        baseline="compiled",
        candidate="triton_columns",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
    "h100": presets.h100(
        title=_TITLE,
        baseline="compiled",
        candidate="triton_columns",
        workloads=_DECODE,
        protocol=protocols.H200_BY_TIME,
    ),
}
