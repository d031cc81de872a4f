"""The grouped matmuls by Hopper's own means: bulk copies, asynchronous products, warps apart.

Rows are laid out by expert on the device (dispatch.py), then multiplied twice by the Gluon kernel
in kernels/hopper_matmul.py, SwiGLU within the first, and gathered by token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable
from kernels.moe_routing.backward import expert_gradients

try:
    from kernels import hopper_matmul
    from kernels.hopper_matmul import BLOCK_M, Order, Tiles
    from kernels.moe_routing.dispatch import Dispatch, most_tiles
except ImportError as error:
    raise NotAvailable("cuda_gluon needs Triton 3.6 or later: pip install triton") from error

CONFIGS = (
    Order(stages=4, group=16, mixed=True),
    Order(stages=4, group=8),
    Order(stages=4, group=16),
    Order(stages=4, group=32, mixed=True),
)


@dataclass(frozen=True)
class _Prepared:
    dispatch: Dispatch
    tiles: Tiles
    packed: Tensor  # [rows, hidden] tokens by expert
    inner: Tensor  # [rows, inner]
    given: Tensor  # [rows, hidden] what the experts gave
    gate_up: Tensor  # [experts * 2 * inner, hidden], gate and up in turn
    down: Tensor  # [experts * hidden, inner]
    order: Order


def variants(item_bytes: int) -> dict[str, Order]:
    """Orders worth trying on a new GPU, by a short name."""
    return {
        f"s{stages} g{group}{' mixed' * mixed}": Order(stages=stages, group=group, mixed=mixed)
        for stages in (3, 4)
        for group in (4, 8, 16, 32)
        for mixed in (False, True)
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Order | None = None
) -> _Prepared:
    """Pack gate and up in turn, lay out scratch for the worst loads, tune on random tokens.

    NotAvailable without a Hopper GPU, and in fp32, which its matrix units do not multiply.
    """
    down = state["w_down"]
    if not hopper_matmul.runs_on(down):
        raise NotAvailable("cuda_gluon is for 16-bit on a Hopper GPU; else use triton_grouped")
    rows = most_tiles(axes, BLOCK_M) * BLOCK_M
    dispatch = Dispatch.of(axes, down.device, BLOCK_M)
    prepared = _Prepared(
        dispatch=dispatch,
        tiles=Tiles(dispatch.expert_of, dispatch.filled, dispatch.tiles, axes["experts"]),
        packed=down.new_zeros(rows, axes["hidden"]),
        inner=down.new_zeros(rows, axes["inner"]),
        given=down.new_zeros(rows, axes["hidden"]),
        gate_up=hopper_matmul.in_turn(state["w_gate_up"]),
        down=down.reshape(-1, axes["inner"]),
        order=config or CONFIGS[0],
    )
    return prepared if config else _tuned(prepared, axes)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through their experts; writes all of out["out"]."""
    prepared.dispatch.scatter(inputs, prepared.packed)
    _multiply(prepared, prepared.packed, prepared.gate_up, prepared.inner, swiglu=True)
    _multiply(prepared, prepared.inner, prepared.down, prepared.given, swiglu=False)
    prepared.dispatch.gather(prepared.given, out["out"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Of both weights, x and router_logits."""
    return expert_gradients(state, inputs, grads["out"], axes)


def _multiply(
    prepared: _Prepared, a: Tensor, weights: Tensor, out: Tensor, *, swiglu: bool
) -> None:
    hopper_matmul.multiply(
        a, weights, out, tiles=prepared.tiles, order=prepared.order, swiglu=swiglu
    )


def _tuned(prepared: _Prepared, axes: Mapping[str, int]) -> _Prepared:
    """With the quickest of the orders for these sizes on this machine."""
    down = prepared.down
    inputs = {
        "x": torch.randn(axes["tokens"], axes["hidden"], device=down.device, dtype=down.dtype),
        "router_logits": torch.randn(axes["tokens"], axes["experts"], device=down.device),
    }
    out = {"out": torch.empty_like(inputs["x"])}
    found = tuning.best(
        source=hopper_matmul.__file__,
        key=("moe_routing", *sorted(axes.items()), down.dtype),
        configs=CONFIGS,
        run=lambda order: run(replace(prepared, order=order), inputs, out),
    )
    return replace(prepared, order=found)
