"""Gate, up, silu and multiply in one kernel by Hopper's own means; down by the quicker of two.

The kernel is kernels/hopper_matmul.py with a single expert. The down projection is the library's
or the same kernel's, as `prepare` finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable
from kernels.fused_ffn.backward import network_gradients
from kernels.tensor_maps import addressable

try:
    from kernels import hopper_matmul
    from kernels.hopper_matmul import BLOCK_M, Order, Tiles
except ImportError as error:
    raise NotAvailable("cuda_gluon needs Triton 3.6 or later: pip install triton") from error


@dataclass(frozen=True, kw_only=True)
class Config:
    """The order of the tiles, and whether the down projection is the library's."""

    order: Order
    library_down: bool


CONFIGS = tuple(
    Config(order=Order(stages=4, group=group), library_down=library)
    for group in (16, 8, 32)
    for library in (True, False)
)


@dataclass(frozen=True)
class _Prepared:
    gate_up: Tensor  # [2 * ffn, hidden], gate and up in turn
    down: Tensor  # [hidden, ffn]
    inner: Tensor  # [tokens, ffn]
    tiles: Tiles
    config: Config


def variants(item_bytes: int) -> dict[str, Config]:
    """What `prepare` tries, by a short name."""
    return {
        f"g{config.order.group} {'library' if config.library_down else 'own'} down": config
        for config in CONFIGS
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Pack gate and up in turn, lay out the inner state, tune on random tokens.

    NotAvailable without a Hopper GPU, and in fp32, which its matrix units do not multiply.
    """
    down = state["w_down"]
    if not hopper_matmul.runs_on(down):
        raise NotAvailable("cuda_gluon is for 16-bit on a Hopper GPU; else use triton_swiglu")
    prepared = _Prepared(
        gate_up=hopper_matmul.in_turn(state["w_gate_up"]),
        down=down.contiguous(),
        inner=down.new_empty(axes["tokens"], axes["ffn"]),
        tiles=_tiles(axes["tokens"], down.device),
        config=config or CONFIGS[0],
    )
    return prepared if config else _tuned(prepared, axes)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through the network; writes all of out["out"]."""
    x, result, config = inputs["x"], out["out"], prepared.config
    how = prepared.tiles, config.order
    _multiply(x if addressable(x) else x.contiguous(), prepared.gate_up, prepared.inner, *how)
    if config.library_down or not addressable(result):
        torch.mm(prepared.inner, prepared.down.T, out=result)
    else:
        _multiply(prepared.inner, prepared.down, result, *how, swiglu=False)


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Of both weights and x."""
    return network_gradients(state, inputs, grads["out"])


def _multiply(
    a: Tensor, weights: Tensor, out: Tensor, tiles: Tiles, order: Order, *, swiglu: bool = True
) -> None:
    hopper_matmul.multiply(a, weights, out, tiles=tiles, order=order, swiglu=swiglu)


def _tiles(tokens: int, device: torch.device) -> Tiles:
    """All rows are of the one expert; the last tile may not be full."""
    begins = torch.arange(0, tokens, BLOCK_M, dtype=torch.int32, device=device)
    return Tiles(
        expert_of=torch.zeros_like(begins),
        filled=(tokens - begins).clamp_(max=BLOCK_M),
        count=torch.tensor([len(begins)], dtype=torch.int32, device=device),
        experts=1,
    )


def _tuned(prepared: _Prepared, axes: Mapping[str, int]) -> _Prepared:
    """With the quickest of the configurations for these sizes on this machine."""
    x = torch.randn(
        axes["tokens"], axes["hidden"], device=prepared.down.device, dtype=prepared.down.dtype
    )
    out = {"out": torch.empty_like(x)}
    found = tuning.best(
        source=hopper_matmul.__file__,
        key=("fused_ffn", axes["tokens"], *prepared.down.shape, x.dtype),
        configs=CONFIGS,
        run=lambda config: run(replace(prepared, config=config), {"x": x}, out),
    )
    return replace(prepared, config=found)
