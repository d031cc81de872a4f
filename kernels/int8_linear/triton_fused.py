"""The int8 weights read as they are and widened in registers, in front of the tensor cores.

The weights stand on the left of the product, where their many rows fill the tile of the tensor
cores, and the few rows of x on the right. All tiles' steps along in_features stand in one row, and
every program takes an equal share of it, so that none waits for another at the end. A tile that
several programs have a part of is added up, in their order, by the last of them to finish: the
result is the same every time, and the tile's counter is zero again for the next call.
Under TRITON_INTERPRET=1 it runs on the processor.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernels import tuning
from kernels.definition import NotAvailable
from kernels.tensor_maps import addressable

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    raise NotAvailable("triton_fused needs Triton 3.4 or later: pip install triton") from error

# What tl.dot takes at least, and the most rows of x that a tile has.
LEAST_ROWS = 16
MOST_ROWS = 64
# Where there is no GPU to ask: under Triton's interpreter.
FEW_MULTIPROCESSORS = 3


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tile is `features` of out_features by `depth` of in_features.

    `splits` programs share a tile's sum; with `residents` instead, as many programs a
    multiprocessor share all sums evenly. `bulk`: tiles come by the copy engine.
    """

    features: int
    depth: int
    warps: int
    stages: int
    splits: int = 1
    residents: int = 0
    bulk: bool = False


CONFIGS = (
    Config(features=64, depth=128, splits=1, warps=4, stages=4),
    Config(features=64, depth=128, splits=4, warps=4, stages=5),
    Config(features=128, depth=128, splits=2, warps=4, stages=4),
    Config(features=64, depth=128, residents=4, warps=4, stages=4),
    Config(features=128, depth=128, residents=2, warps=4, stages=3),
    Config(features=128, depth=128, residents=2, warps=4, stages=3, bulk=True),
    Config(features=256, depth=128, residents=1, warps=8, stages=4, bulk=True),
)


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [out_features, in_features] int8
    scale: Tensor  # [out_features]
    parts: Tensor  # [row tiles, programs, 2, features, rows] in float32
    arrived: Tensor  # [row tiles, tiles] int32, zero between calls
    config: Config


@triton.jit
def _owner(step, steps_in_all, programs):
    """The program whose share has this step."""
    return ((step + 1) * programs - 1) // steps_in_all


@triton.jit
def _tile_sum(
    x_source, weight_source, batch, out_features, in_features, stride_x, tile, rows, begin, end,
    FEATURES: tl.constexpr, DEPTH: tl.constexpr, ROWS: tl.constexpr,
    WHOLE: tl.constexpr, BULK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """A tile's sum over its steps from `begin` to `end`."""
    acc = tl.zeros([FEATURES, ROWS], tl.float32)
    if BULK:
        for step in range(begin, end):
            # Outside of a tensor the engine finds zeros.
            w = weight_source.load([tile * FEATURES, step * DEPTH])
            x = x_source.load([rows * ROWS, step * DEPTH])
            acc = tl.dot(w.to(x.dtype), x.T, acc, input_precision=PRECISION)
    else:
        feature = tile * FEATURES + tl.arange(0, FEATURES)
        row = rows * ROWS + tl.arange(0, ROWS)
        col = tl.arange(0, DEPTH)
        weight_at = weight_source + feature[:, None].to(tl.int64) * in_features + col[None, :]
        x_at = x_source + row[None, :].to(tl.int64) * stride_x + col[:, None]
        for step in range(begin, end):
            start = step * DEPTH
            # WHOLE: tiles divide the weights, so that only rows of x may be missing.
            if WHOLE:
                w = tl.load(weight_at + start, eviction_policy="evict_first")
                x = tl.load(x_at + start, mask=row[None, :] < batch, other=0.0)
            else:
                left = in_features - start
                w_held = (feature[:, None] < out_features) & (col[None, :] < left)
                w = tl.load(weight_at + start, mask=w_held, other=0)
                x_held = (row[None, :] < batch) & (col[:, None] < left)
                x = tl.load(x_at + start, mask=x_held, other=0.0)
            acc = tl.dot(w.to(x.dtype), x, acc, input_precision=PRECISION)
    return acc


@triton.jit
def _linear(
    x_source, weight_source, scale_ptr, out_ptr, parts_ptr, arrived_ptr,
    batch, out_features, in_features, stride_x, tiles,
    FEATURES: tl.constexpr, DEPTH: tl.constexpr, ROWS: tl.constexpr,
    WHOLE: tl.constexpr, BULK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    me, programs, rows = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    steps = tl.cdiv(in_features, DEPTH)
    # Widened from the steps: a single tile is a constant here and has no type to widen.
    in_all = steps.to(tl.int64) * tiles
    at = (me * in_all // programs).to(tl.int32)
    last = ((me + 1) * in_all // programs).to(tl.int32)
    inside = tl.arange(0, FEATURES)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    row = rows * ROWS + tl.arange(0, ROWS)[None, :]
    own_parts = parts_ptr + rows.to(tl.int64) * programs * (2 * FEATURES * ROWS) + inside
    while at < last:
        tile = at // steps
        first_step = tile * steps
        begin, end = at - first_step, tl.minimum(steps, last - first_step)
        acc = _tile_sum(
            x_source, weight_source, batch, out_features, in_features, stride_x,
            tile, rows, begin, end, FEATURES, DEPTH, ROWS, WHOLE, BULK, PRECISION,
        )  # fmt: skip
        whole = end - begin == steps
        if not whole:
            # A program has at most two parts: the end of one tile, the beginning of another.
            mine = own_parts + (me * 2 + (begin == 0).to(tl.int32)).to(tl.int64) * FEATURES * ROWS
            tl.store(mine, acc)
            # Every thread's part is written before the program says so.
            tl.debug_barrier()
            first = _owner(first_step.to(tl.int64), in_all, programs).to(tl.int32)
            final = _owner((first_step + steps - 1).to(tl.int64), in_all, programs).to(tl.int32)
            counter = arrived_ptr + rows * tiles + tile
            whole = tl.atomic_add(counter, 1, sem="acq_rel") == final - first
            if whole:
                acc = tl.zeros([FEATURES, ROWS], tl.float32)
                for program in range(first, final + 1):
                    place = program * 2 + (program == first).to(tl.int32)
                    part = own_parts + place.to(tl.int64) * FEATURES * ROWS
                    acc += tl.load(part, cache_modifier=".cg")
                tl.store(counter, 0)
        if whole:
            feature = tile * FEATURES + tl.arange(0, FEATURES)
            known = feature < out_features
            scale = tl.load(scale_ptr + feature, mask=known, other=0.0).to(tl.float32)
            out_at = out_ptr + row.to(tl.int64) * out_features + feature[:, None]
            held = (row < batch) & known[:, None]
            tl.store(out_at, (acc * scale[:, None]).to(out_ptr.dtype.element_ty), mask=held)
        at = first_step + end


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    cuts = [(64, 128, 4, 4), (64, 128, 4, 6), (128, 64, 4, 6), (128, 128, 4, 3), (128, 128, 8, 3)]
    cuts += [(256, 64, 8, 4), (256, 128, 8, 3), (256, 128, 8, 4)]
    tried = {}
    for features, depth, warps, stages in cuts:
        base = Config(features=features, depth=depth, warps=warps, stages=stages)
        for residents in (1, 2) if features > 64 else (2, 4):
            for bulk in (False, True):
                shown = f"f{features} d{depth} w{warps} s{stages} r{residents}{' bulk' * bulk}"
                tried[shown] = replace(base, residents=residents, bulk=bulk)
    for config in CONFIGS:
        if not config.residents:
            tried[f"f{config.features} splits {config.splits}"] = config
    return tried


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """The weights as they are, room for the parts of a sum, and the quickest cut.

    NotAvailable without a CUDA GPU.
    """
    weight, scale = state["weight"].contiguous(), state["scale"].contiguous()
    if not weight.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_fused needs a CUDA GPU; on the processor use torch_scaled")
    batch, rows = axes["batch"], _rows(axes["batch"])
    x = scale.new_zeros(batch, weight.shape[1])
    out = scale.new_empty(batch, len(weight))
    chosen = config or tuning.best(
        source=__file__,
        key=(*weight.shape, rows, str(scale.dtype)),
        configs=CONFIGS,
        run=lambda config: _launch(_with(weight, scale, batch, config), x, out),
    )
    return _with(weight, scale, batch, chosen)


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


def _programs(weight: Tensor, config: Config) -> int:
    """How many share the sums of one tile of rows; no share is empty."""
    tiles = triton.cdiv(len(weight), config.features)
    wanted = tiles * config.splits
    if config.residents:
        wanted = config.residents * _multiprocessors(weight)
    found: int = min(wanted, tiles * triton.cdiv(weight.shape[1], config.depth))
    return found


def _multiprocessors(weight: Tensor) -> int:
    if not weight.is_cuda:
        return FEW_MULTIPROCESSORS
    found: int = torch.cuda.get_device_properties(weight.device).multi_processor_count
    return found


def _with(weight: Tensor, scale: Tensor, batch: int, config: Config) -> _Prepared:
    rows, tiles = _rows(batch), triton.cdiv(len(weight), config.features)
    row_tiles, programs = triton.cdiv(batch, rows), _programs(weight, config)
    return _Prepared(
        weight=weight,
        scale=scale,
        parts=torch.empty(
            (row_tiles, programs, 2, config.features, rows) if programs != tiles else 0,
            dtype=torch.float32,
            device=weight.device,
        ),
        arrived=torch.zeros(row_tiles, tiles, dtype=torch.int32, device=weight.device),
        config=config,
    )


def _launch(prepared: _Prepared, x: Tensor, out: Tensor) -> None:
    config, weight, batch = prepared.config, prepared.weight, len(x)
    rows, (row_tiles, tiles) = _rows(batch), prepared.arrived.shape
    bulk = config.bulk and addressable(x) and addressable(weight)
    _linear[(_programs(weight, config), row_tiles)](
        TensorDescriptor.from_tensor(x, [rows, config.depth]) if bulk else x,
        TensorDescriptor.from_tensor(weight, [config.features, config.depth]) if bulk else weight,
        prepared.scale,
        out,
        prepared.parts,
        prepared.arrived,
        batch,
        len(weight),
        weight.shape[1],
        x.stride(0),
        tiles,
        FEATURES=config.features,
        DEPTH=config.depth,
        ROWS=rows,
        WHOLE=len(weight) % config.features == 0 and weight.shape[1] % config.depth == 0,
        BULK=bulk,
        # TF32 would lose what float32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )
