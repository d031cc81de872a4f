"""Rows of a table as the operator, a projection after it as the rest of the step. No torch here."""

from __future__ import annotations

from kernels.definition import Definition, HeldBack, TensorSpec, Tolerance

_TABLE = TensorSpec(name="table", shape=("vocabulary", "hidden"))
_IDS = TensorSpec(
    name="ids", shape=("tokens",), dtype="int64", distribution="uniform", below="vocabulary"
)
_TOLERANCE = Tolerance(max_abs=1e-4, max_rel=1e-4, matched_share=1.0, hard_cap_abs=1e-2)

DEFINITION = Definition(
    operator="projected_lookup",
    title="Lookup before a projection",
    summary="out = table[ids]; the step projects it.",
    axes={"tokens": "ids", "vocabulary": "rows", "hidden": "numbers of a row"},
    state=(_TABLE,),
    inputs=(_IDS,),
    outputs=(TensorSpec(name="out", shape=("tokens", "hidden")),),
    program="lookup and projection",
    program_state=(
        _TABLE,
        TensorSpec(name="weight", shape=("hidden", "hidden"), fan_in=("hidden",)),
    ),
    program_inputs=(_IDS,),
    program_outputs=(TensorSpec(name="y", shape=("tokens", "hidden")),),
    tolerances={"float32": _TOLERANCE},
    held_back=HeldBack(free=("tokens",)),
)
