"""FP8 weights streamed once through the tensor cores, for up to 128 rows of activations.

The weights are on the left, so that `wgmma` has its 64 rows even for one token. A tile of features
is shared by several programs, each with some of the blocks of inputs; the last of them to finish
adds the parts up in a fixed order. A block's sum starts at zero and is added in float32 after
scaling, which also bounds what Hopper's FP8 sums lose. Under TRITON_INTERPRET=1 it runs on the
processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise NotAvailable("triton_blocks needs Triton: pip install triton") from error

BLOCK = 128
# What tl.dot takes at least, and rows of the widest tile.
LEAST_ROWS, MOST_ROWS = 16, 128


@dataclass(frozen=True, kw_only=True)
class Config:
    """Features of a tile, programs that share one, warps, and blocks under way."""

    features: int
    shares: int
    warps: int
    stages: int


CONFIGS = tuple(
    Config(features=features, shares=shares, warps=4, stages=stages)
    for features, shares, stages in (
        (64, 1, 6),
        (128, 1, 4),
        (64, 2, 6),
        (128, 2, 4),
        (128, 4, 4),
        (64, 4, 6),
    )
)


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [out_features, in_features]
    scale: Tensor  # [out_blocks, in_blocks]
    parts: Tensor  # [tiles, shares, features, rows] in fp32
    arrived: Tensor  # [tiles]
    config: Config


@triton.jit
def _linear(
    x_ptr, x_scale_ptr, weight_ptr, scale_ptr, out_ptr, parts_ptr, arrived_ptr,
    batch, in_features, out_features, stride_x, stride_scale,
    FEATURES: tl.constexpr, ROWS: tl.constexpr, SHARES: tl.constexpr, STAGES: tl.constexpr,
    HARDWARE: tl.constexpr,
):  # fmt: skip
    BLOCK: tl.constexpr = 128
    tile, share, rows = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    blocks = in_features // BLOCK
    begin, end = share * blocks // SHARES, (share + 1) * blocks // SHARES
    feature, number = tile * FEATURES + tl.arange(0, FEATURES), tl.arange(0, BLOCK)
    row = rows * ROWS + tl.arange(0, ROWS)
    held = row < batch
    weight_at = weight_ptr + feature[:, None].to(tl.int64) * in_features + number[None, :]
    x_at = x_ptr + row[None, :].to(tl.int64) * stride_x + number[:, None]
    row_scale_at = x_scale_ptr + row.to(tl.int64) * stride_scale
    scale_at = scale_ptr + (tile * FEATURES // BLOCK) * blocks
    acc = tl.zeros([FEATURES, ROWS], tl.float32)
    for block in tl.range(begin, end, num_stages=STAGES):
        weight = tl.load(weight_at + block * BLOCK)
        x = tl.load(x_at + block * BLOCK, mask=held[None, :], other=0.0)
        factor = tl.load(row_scale_at + block, mask=held, other=0.0) * tl.load(scale_at + block)
        if HARDWARE:
            part = tl.dot(weight, x)
        else:
            part = tl.dot(weight.to(tl.float32), x.to(tl.float32), input_precision="ieee")
        acc += part * factor[None, :]

    whole = True
    if SHARES > 1:
        own = tl.num_programs(0) * rows + tile
        inside = tl.arange(0, FEATURES)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
        parts_at = parts_ptr + own.to(tl.int64) * (SHARES * FEATURES * ROWS) + inside
        tl.store(parts_at + share * (FEATURES * ROWS), acc)
        # Every thread's part is written before the program says so.
        tl.debug_barrier()
        whole = tl.atomic_add(arrived_ptr + own, 1, sem="acq_rel") == SHARES - 1
        if whole:
            acc = tl.zeros([FEATURES, ROWS], tl.float32)
            for other in range(SHARES):
                acc += tl.load(parts_at + other * (FEATURES * ROWS), cache_modifier=".cg")
            tl.store(arrived_ptr + own, 0)
    if whole:
        out_at = out_ptr + row[None, :].to(tl.int64) * out_features + feature[:, None]
        tl.store(out_at, acc.to(out_ptr.dtype.element_ty), mask=held[None, :])


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    return {f"f{one.features} n{one.shares} w{one.warps} s{one.stages}": one for one in CONFIGS}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Weights as they are, room for the parts of a sum, and the quickest cut.

    NotAvailable without a CUDA GPU.
    """
    weight, batch = state["weight"], axes["batch"]
    if not weight.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_blocks needs a CUDA GPU; on the processor use torch_blocks")
    if config is None:
        x_scale = state["scale"].new_ones(batch, weight.shape[1] // BLOCK)
        trial = {
            "x": weight.new_empty(batch, weight.shape[1]),
            "x_scale": x_scale,
            "out": x_scale.new_empty(batch, len(weight), dtype=torch.bfloat16),
        }
        config = tuning.best(
            source=__file__,
            key=(*weight.shape, _rows(batch)),
            configs=CONFIGS,
            run=lambda one: run(_with(state, batch, one), trial, trial),
        )
    return _with(state, batch, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, out_features]."""
    x, x_scale, config = inputs["x"], inputs["x_scale"], prepared.config
    out_features, in_features = prepared.weight.shape
    rows = _rows(len(x))
    grid = out_features // config.features, config.shares, triton.cdiv(len(x), rows)
    _linear[grid](
        x, x_scale, prepared.weight, prepared.scale, out["out"], prepared.parts, prepared.arrived,
        len(x), in_features, out_features, x.stride(0), x_scale.stride(0),
        FEATURES=config.features, ROWS=rows, SHARES=config.shares, STAGES=config.stages,
        HARDWARE=x.is_cuda, num_warps=config.warps,
    )  # fmt: skip


def _rows(batch: int) -> int:
    rows: int = triton.next_power_of_2(batch)
    return min(MOST_ROWS, max(LEAST_ROWS, rows))


def _with(state: Mapping[str, Tensor], batch: int, config: Config) -> _Prepared:
    rows = _rows(batch)
    tiles = len(state["weight"]) // config.features * triton.cdiv(batch, rows)
    return _Prepared(
        weight=state["weight"],
        scale=state["scale"],
        parts=state["scale"].new_empty(tiles, config.shares, config.features, rows),
        arrived=state["scale"].new_zeros(tiles, dtype=torch.int32),
        config=config,
    )
