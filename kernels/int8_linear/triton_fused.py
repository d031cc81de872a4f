"""The int8 weights read as they are and widened in registers, in front of the tensor cores.

The weights stand on the left of the product, where their many rows fill the tile of the tensor
cores, and the few rows of x on the right. The sum over in_features may be split over programs; the
last of a tile to finish adds the parts in their order, so that the result is the same every time,
and leaves its counter at zero for the next call. Under TRITON_INTERPRET=1 it runs on the processor.
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
    raise NotAvailable("triton_fused needs Triton: pip install triton") from error

# What tl.dot takes at least, and the most rows of x that a tile has.
LEAST_ROWS = 16
MOST_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tile is `features` of out_features by `depth` of in_features; `splits` share one sum."""

    features: int
    depth: int
    splits: int
    warps: int
    stages: int


CONFIGS = (
    Config(features=64, depth=128, splits=1, warps=4, stages=4),
    Config(features=64, depth=128, splits=2, warps=4, stages=5),
    Config(features=64, depth=128, splits=4, warps=4, stages=5),
    Config(features=64, depth=256, splits=4, warps=4, stages=3),
    Config(features=128, depth=128, splits=2, warps=4, stages=4),
    Config(features=128, depth=128, splits=8, warps=8, stages=4),
)


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [out_features, in_features] int8
    scale: Tensor  # [out_features]
    parts: Tensor  # [splits, batch, out_features] in float32
    arrived: Tensor  # [tiles] int32, zero between calls
    config: Config


@triton.jit
def _linear(x_ptr, weight_ptr, scale_ptr, out_ptr, parts_ptr, arrived_ptr,
            batch, out_features, in_features, chunk, stride_x,
            FEATURES: tl.constexpr, DEPTH: tl.constexpr, ROWS: tl.constexpr,
            SPLITS: tl.constexpr, WHOLE: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    tile, split, rows = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    feature = tile * FEATURES + tl.arange(0, FEATURES)
    row = rows * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, DEPTH)
    begin = split * chunk
    weight_at = weight_ptr + feature[:, None].to(tl.int64) * in_features + col[None, :]
    x_at = x_ptr + row[None, :].to(tl.int64) * stride_x + col[:, None]
    acc = tl.zeros([FEATURES, ROWS], tl.float32)
    for start in range(begin, tl.minimum(begin + chunk, in_features), DEPTH):
        # WHOLE: tiles divide the weights, so that only rows of x may be missing.
        if WHOLE:
            w = tl.load(weight_at + start, eviction_policy="evict_first")
            x = tl.load(x_at + start, mask=row[None, :] < batch, other=0.0)
        else:
            left = in_features - start
            w = tl.load(
                weight_at + start,
                mask=(feature[:, None] < out_features) & (col[None, :] < left),
                other=0,
            )
            held = (row[None, :] < batch) & (col[:, None] < left)
            x = tl.load(x_at + start, mask=held, other=0.0)
        acc = tl.dot(w.to(x.dtype), x, acc, input_precision=PRECISION)

    at = row[None, :].to(tl.int64) * out_features + feature[:, None]
    held = (row[None, :] < batch) & (feature[:, None] < out_features)
    scale = tl.load(scale_ptr + feature, mask=feature < out_features, other=0.0).to(tl.float32)
    kind = out_ptr.dtype.element_ty
    if SPLITS == 1:
        tl.store(out_ptr + at, (acc * scale[:, None]).to(kind), mask=held)
    else:
        # Widened from the program's id: a batch of 1 is a constant here and has no type to widen.
        begin_of_part = split.to(tl.int64) * batch * out_features
        tl.store(parts_ptr + begin_of_part + at, acc, mask=held)
        # Every thread's part is written before the program says so.
        tl.debug_barrier()
        counter = arrived_ptr + tile * tl.num_programs(2) + rows
        if tl.atomic_add(counter, 1, sem="acq_rel") == SPLITS - 1:
            total = tl.zeros([FEATURES, ROWS], tl.float32)
            part_at = parts_ptr + at
            for _ in range(SPLITS):
                total += tl.load(part_at, mask=held, other=0.0, cache_modifier=".cg")
                part_at += batch * out_features
            tl.store(out_ptr + at, (total * scale[:, None]).to(kind), mask=held)
            tl.store(counter, 0)


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
    """The weights as they are, room for the parts of a sum, and the quickest cut.

    NotAvailable without a CUDA GPU.
    """
    weight, scale = state["weight"].contiguous(), state["scale"].contiguous()
    if not weight.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_fused needs a CUDA GPU; on the processor use torch_scaled")
    batch, rows = axes["batch"], _rows(axes["batch"])
    x = scale.new_zeros(batch, weight.shape[1])
    out = scale.new_empty(batch, len(weight))
    config = tuning.best(
        source=__file__,
        key=(*weight.shape, rows, str(scale.dtype)),
        configs=CONFIGS,
        run=lambda config: _launch(_with(weight, scale, batch, config), x, out),
    )
    return _with(weight, scale, batch, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, out_features]."""
    _launch(prepared, inputs["x"], out["out"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """For the activations, by torch: adapters on frozen int8 weights train in large batches."""
    scaled = grads["out"] * state["scale"]
    return {"x": scaled @ state["weight"].to(scaled.dtype)}


def _rows(batch: int) -> int:
    rows: int = triton.next_power_of_2(batch)
    return min(MOST_ROWS, max(LEAST_ROWS, rows))


def _with(weight: Tensor, scale: Tensor, batch: int, config: Config) -> _Prepared:
    tiles = triton.cdiv(len(weight), config.features) * triton.cdiv(batch, _rows(batch))
    return _Prepared(
        weight=weight,
        scale=scale,
        parts=torch.empty(
            (config.splits, batch, len(weight)) if config.splits > 1 else 0,
            dtype=torch.float32,
            device=weight.device,
        ),
        arrived=torch.zeros(tiles, dtype=torch.int32, device=weight.device),
        config=config,
    )


def _launch(prepared: _Prepared, x: Tensor, out: Tensor) -> None:
    config, (batch, in_features) = prepared.config, x.shape
    rows = _rows(batch)
    steps = triton.cdiv(triton.cdiv(in_features, config.depth), config.splits)
    tiles = triton.cdiv(out.shape[1], config.features)
    _linear[(tiles, config.splits, triton.cdiv(batch, rows))](
        x,
        prepared.weight,
        prepared.scale,
        out,
        prepared.parts,
        prepared.arrived,
        batch,
        out.shape[1],
        in_features,
        steps * config.depth,
        x.stride(0),
        FEATURES=config.features,
        DEPTH=config.depth,
        ROWS=rows,
        SPLITS=config.splits,
        WHOLE=out.shape[1] % config.features == 0 and in_features % config.depth == 0,
        # TF32 would lose what float32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )
