"""`y = softmax(x + bias)` and, for the gradient of y, that of x. No torch here."""

from __future__ import annotations

from kernels.definition import Definition, HeldBack, TensorSpec, Tolerance

_STATE = (TensorSpec(name="bias", shape=("columns",)),)
_X = TensorSpec(name="x", shape=("rows", "columns"), scale=2.0)
_Y = TensorSpec(name="y", shape=("rows", "columns"))

DEFINITION = Definition(
    operator="softmax_training",
    title="Softmax, trained",
    summary="Softmax of each row of x + bias, forward and backward.",
    axes={"rows": "rows", "columns": "elements of a row"},
    state=_STATE,
    inputs=(_X,),
    outputs=(_Y,),
    program="softmax and its backward pass",
    program_state=_STATE,
    program_inputs=(_X, TensorSpec(name="grad_y", shape=("rows", "columns"))),
    program_outputs=(_Y, TensorSpec(name="grad_x", shape=("rows", "columns"))),
    tolerances={
        "float32": Tolerance(max_abs=1e-6, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-3)
    },
    held_back=HeldBack(free=("rows", "columns")),
)
