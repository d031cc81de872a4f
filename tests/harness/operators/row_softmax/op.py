"""Softmax over rows with a bias as its state: `y = softmax(x + bias)`. No torch here."""

from __future__ import annotations

from kernels.definition import (
    Axes,
    Contents,
    Definition,
    HeldBack,
    SpecialValues,
    TensorSpec,
    Tolerance,
)

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
    chain={"x": "y"},
    tolerances={
        "float32": Tolerance(max_abs=1e-7, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-3)
    },
    held_back=HeldBack(
        free=("rows", "columns"),
        strided=("rows",),
        special=(
            SpecialValues(name="large values", contents={"x": Contents(scale=100.0)}),
            SpecialValues(name="zeros", contents={"x": Contents(scale=0.0)}),
            SpecialValues(name="a NaN", contents={"x": Contents(plant="nan")}),
        ),
    ),
)


def flops(axes: Axes) -> int:
    """One exponential, one sum and one division an element, counted as three."""
    return 3 * axes["rows"] * axes["columns"]


def bytes_moved(axes: Axes, dtype: str) -> int:
    """Every element read and written once."""
    return 2 * axes["rows"] * axes["columns"] * {"float32": 4}[dtype]
