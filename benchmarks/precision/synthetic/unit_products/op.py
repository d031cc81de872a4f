"""y = x @ w[0], after a number of products with w set for each side. No torch here."""

from __future__ import annotations

from kernels.definition import Axes, Definition, HeldBack, TensorSpec, Tolerance

_STATE = (TensorSpec(name="w", shape=("layers", "columns", "columns"), fan_in=("columns",)),)
_INPUTS = (TensorSpec(name="x", shape=("rows", "columns")),)
_OUTPUTS = (TensorSpec(name="y", shape=("rows", "columns")),)

DEFINITION = Definition(
    operator="unit_products",
    title="A product, over and over",
    summary="Computes x @ w[i] baseline_units or candidate_units times; y is that with w[0].",
    axes={
        "rows": "rows of x",
        "columns": "columns of x, rows and columns of each w[i]",
        "layers": "how many products lie between two with the same weights",
        "baseline_units": "how often the baseline computes it",
        "candidate_units": "how often the candidate computes it",
    },
    state=_STATE,
    inputs=_INPUTS,
    outputs=_OUTPUTS,
    program="the product alone",
    program_state=_STATE,
    program_inputs=_INPUTS,
    program_outputs=_OUTPUTS,
    tolerances={
        "float32": Tolerance(max_abs=1e-4, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-3),
        "bfloat16": Tolerance(max_abs=2e-2, max_rel=2e-2, matched_share=0.999, hard_cap_abs=0.2),
    },
    held_back=HeldBack(free=("rows",)),
)


def flops(axes: Axes) -> int:
    """Of one product."""
    return 2 * axes["rows"] * axes["columns"] ** 2


def bytes_moved(axes: Axes, dtype: str) -> int:
    """x and w read, y written, once each."""
    elements = 2 * axes["rows"] * axes["columns"] + axes["columns"] ** 2
    return elements * {"float32": 4, "bfloat16": 2}[dtype]
