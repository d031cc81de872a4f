"""Softmax over rows with a bias as its state: `y = softmax(x + bias)`. No torch here."""

from __future__ import annotations

from kernels.definition import Definition, TensorSpec, Tolerance

_STATE = (TensorSpec(name="bias", shape=("columns",)),)
_INPUTS = (TensorSpec(name="x", shape=("rows", "columns"), scale=2.0),)
_OUTPUTS = (TensorSpec(name="y", shape=("rows", "columns")),)

DEFINITION = Definition(
    operator="row_softmax",
    title="Softmax over rows",
    summary="Softmax of each row of x + bias.",
    axes={"rows": "rows", "columns": "elements of a row"},
    state=_STATE,
    inputs=_INPUTS,
    outputs=_OUTPUTS,
    program="softmax alone",
    program_state=_STATE,
    program_inputs=_INPUTS,
    program_outputs=_OUTPUTS,
    tolerances={
        "float32": Tolerance(max_abs=1e-7, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-3)
    },
)
