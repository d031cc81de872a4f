"""In double precision."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor


def reference(
    state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """`out` [tokens, hidden]: the rows."""
    return {"out": state["table"].double()[inputs["ids"]]}


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """`y` [tokens, hidden]: the rows, projected."""
    return {"y": reference(state, inputs, axes)["out"] @ state["weight"].double()}
