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


@dataclass(frozen=True, kw_only=True)
class Config:
    """How each of the two matmuls goes about its tiles."""

    gate_up: Order
    down: Order


NARROW = Order(block_n=128, stages=6, group=8)
WIDE = Order(stages=4, group=8)
# With popularity by Zipf's law some fifth of the tiles is of experts with hardly any rows.
SIDE_BY_SIDE = replace(WIDE, group=4, mixed=5)
CONFIGS = (
    Config(gate_up=NARROW, down=WIDE),
    Config(gate_up=SIDE_BY_SIDE, down=SIDE_BY_SIDE),
    Config(gate_up=replace(WIDE, group=4), down=WIDE),
    Config(gate_up=NARROW, down=replace(WIDE, group=16)),
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
    config: Config


def variants(item_bytes: int) -> dict[str, Config]:
    """Orders worth trying on a new GPU, by a short name."""
    return {
        f"up {up.block_n} down {down.block_n} g{group} mixed{mixed}": Config(
            gate_up=replace(up, group=group, mixed=mixed),
            down=replace(down, group=group, mixed=mixed),
        )
        for up in (NARROW, WIDE)
        for down in (NARROW, WIDE)
        for group in (4, 8, 16)
        for mixed in (0, 4, 5)
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
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
        config=config or CONFIGS[0],
    )
    return prepared if config else _tuned(prepared, axes)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through their experts; writes all of out["out"]."""
    prepared.dispatch.scatter(inputs, prepared.packed)
    config, tiles = prepared.config, prepared.tiles
    hopper_matmul.multiply(
        prepared.packed,
        prepared.gate_up,
        prepared.inner,
        tiles=tiles,
        order=config.gate_up,
        swiglu=True,
    )
    hopper_matmul.multiply(
        prepared.inner,
        prepared.down,
        prepared.given,
        tiles=tiles,
        order=config.down,
        swiglu=False,
    )
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


def _tuned(prepared: _Prepared, axes: Mapping[str, int]) -> _Prepared:
    """With the quickest of the configurations for these sizes on this machine."""
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
        run=lambda config: run(replace(prepared, config=config), inputs, out),
    )
    return replace(prepared, config=found)
