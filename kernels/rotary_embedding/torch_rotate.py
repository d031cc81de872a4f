"""The rotation in plain torch, half by half: no rotated copy of the input is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class _Tables:
    cos: Tensor  # [seq_len, 1, half_dim]
    sin: Tensor


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Tables:
    """One row of each table for all heads of a token."""
    return _Tables(state["cos"][:, None], state["sin"][:, None])


def run(prepared: _Tables, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["q_turned"] and out["k_turned"] [batch, seq_len, heads, head_dim]."""
    _turn(inputs["q"], prepared, out["q_turned"])
    _turn(inputs["k"], prepared, out["k_turned"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """A rotation's gradient is turned back. The tables are constants."""
    back = prepare({"cos": state["cos"], "sin": -state["sin"]}, axes)
    made = {name: torch.empty_like(inputs[name]) for name in ("q", "k")}
    for name, result in made.items():
        _turn(grads[f"{name}_turned"], back, result)
    return made


def _turn(x: Tensor, tables: _Tables, result: Tensor) -> None:
    first, second = x.chunk(2, -1)
    turned_first, turned_second = result.chunk(2, -1)
    turned_first.copy_(torch.addcmul(first * tables.cos, second, tables.sin, value=-1.0))
    turned_second.copy_(torch.addcmul(second * tables.cos, first, tables.sin))
