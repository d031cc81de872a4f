"""Bias and ReLU in the epilogue of the product: y is written once and read by nobody in between.

Programs stay and take tile after tile, tiles come and go by tensor descriptors (TMA), and the sums
get their bias and lose their negatives while they are still in registers. The cut is chosen by
trying; few rows, which are all reading of weights, have cuts of their own. An odd `hidden` is
padded: `w` once, `x` in every call.
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
from kernels.tensor_maps import addressable

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    raise NotAvailable("triton_epilogue needs Triton: pip install triton") from error

# Where there is no GPU to ask: under Triton's interpreter.
FEW_PROGRAMS = 8


@dataclass(frozen=True)
class Config:
    """One cut. `halves`: the tile leaves in two halves, which leaves shared memory for a stage."""

    tile_m: int
    tile_n: int
    depth: int
    group: int
    halves: bool
    stages: int
    warps: int


MANY_ROWS = (
    Config(tile_m=128, tile_n=256, depth=64, group=8, halves=True, stages=3, warps=8),
    Config(tile_m=128, tile_n=256, depth=64, group=8, halves=False, stages=3, warps=8),
    Config(tile_m=128, tile_n=128, depth=64, group=8, halves=False, stages=4, warps=4),
)
FEW_ROWS = (
    Config(tile_m=64, tile_n=64, depth=128, group=8, halves=False, stages=6, warps=4),
    Config(tile_m=64, tile_n=128, depth=128, group=8, halves=False, stages=4, warps=4),
    Config(tile_m=64, tile_n=32, depth=256, group=8, halves=False, stages=4, warps=4),
)
# Blocks small enough for the shared memory that fp32 operands take twice as much of.
WIDE = (Config(tile_m=64, tile_n=64, depth=32, group=8, halves=False, stages=3, warps=4),)


@triton.jit
def _finished(part, bias_ptr, col, ffn, y_dtype):
    """Bias and ReLU over a part of the tile whose columns begin at `col`."""
    cols: tl.constexpr = part.shape[1]
    x = col + tl.arange(0, cols)
    bias = tl.load(bias_ptr + x, mask=x < ffn, other=0.0).to(tl.float32)
    part += bias[None, :]
    # Not a maximum, which would drop a NaN.
    return tl.where(part < 0.0, 0.0, part).to(y_dtype)


@triton.jit
def _stored(y_desc, y_ptr, bias_ptr, part, row, col, batch, ffn, BY_ENGINE: tl.constexpr):
    rows: tl.constexpr = part.shape[0]
    cols: tl.constexpr = part.shape[1]
    done = _finished(part, bias_ptr, col, ffn, y_ptr.dtype.element_ty)
    if BY_ENGINE:
        y_desc.store([row, col], done)
    else:
        at_row = row + tl.arange(0, rows)[:, None]
        at_col = col + tl.arange(0, cols)[None, :]
        at = at_row.to(tl.int64) * ffn + at_col
        tl.store(y_ptr + at, done, mask=(at_row < batch) & (at_col < ffn))


@triton.jit
def _epilogue(
    x_desc, w_desc, y_desc, bias_ptr, y_ptr, batch, ffn, hidden,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    HALVES: tl.constexpr, PROGRAMS: tl.constexpr, BY_ENGINE: tl.constexpr,
):  # fmt: skip
    rows = tl.cdiv(batch, TILE_M)
    cols = tl.cdiv(ffn, TILE_N)
    for index in tl.range(tl.program_id(0), rows * cols, PROGRAMS, flatten=True):
        # Down GROUP rows of tiles before going right: they share columns of w in the cache.
        first = index // (GROUP * cols) * GROUP
        high = tl.minimum(rows - first, GROUP)
        inside = index % (GROUP * cols)
        row = (first + inside % high) * TILE_M
        col = inside // high * TILE_N
        total = tl.zeros([TILE_M, TILE_N], tl.float32)
        for step in range(tl.cdiv(hidden, DEPTH)):
            x = x_desc.load([row, step * DEPTH])
            w = w_desc.load([col, step * DEPTH])
            # TF32 would lose what fp32 promises; for 16-bit operands it has no effect.
            total = tl.dot(x, w.T, total, input_precision="ieee")
        if HALVES:
            both = tl.permute(tl.reshape(total, (TILE_M, 2, TILE_N // 2)), (0, 2, 1))
            left, right = tl.split(both)
            _stored(y_desc, y_ptr, bias_ptr, left, row, col, batch, ffn, BY_ENGINE)
            col += TILE_N // 2
            _stored(y_desc, y_ptr, bias_ptr, right, row, col, batch, ffn, BY_ENGINE)
        else:
            _stored(y_desc, y_ptr, bias_ptr, total, row, col, batch, ffn, BY_ENGINE)


class _Layer:
    """One layer at one cut."""

    def __init__(self, w: Tensor, bias: Tensor, rows: int) -> None:
        self.w, self.bias = w, bias
        self.padded = w.new_zeros(rows, w.shape[1])
        self.config = configs(rows, w.dtype)[0]
        self.programs = FEW_PROGRAMS
        if w.device.type == "cuda":
            self.programs = torch.cuda.get_device_properties(w.device).multi_processor_count

    def __call__(self, x: Tensor, y: Tensor, config: Config | None = None) -> None:
        cut = config or self.config
        batch, ffn = y.shape
        if not addressable(x) or x.shape[1] != self.w.shape[1]:
            self.padded[:batch, : x.shape[1]].copy_(x)
            x = self.padded[:batch]
        tiles = triton.cdiv(batch, cut.tile_m) * triton.cdiv(ffn, cut.tile_n)
        wide = cut.tile_n // 2 if cut.halves else cut.tile_n
        whole = addressable(y)
        _epilogue[(min(tiles, self.programs),)](
            TensorDescriptor.from_tensor(x, [cut.tile_m, cut.depth]),
            TensorDescriptor.from_tensor(self.w, [cut.tile_n, cut.depth]),
            TensorDescriptor.from_tensor(y, [cut.tile_m, wide]) if whole else None,
            self.bias, y, batch, ffn, self.w.shape[1],
            TILE_M=cut.tile_m, TILE_N=cut.tile_n, DEPTH=cut.depth, GROUP=cut.group,
            HALVES=cut.halves, PROGRAMS=self.programs, BY_ENGINE=whole,
            num_stages=cut.stages, num_warps=cut.warps,
        )  # fmt: skip


def configs(rows: int, dtype: torch.dtype) -> tuple[Config, ...]:
    """The cuts worth trying, the one to fall back on first."""
    if dtype == torch.float32:
        return WIDE
    return FEW_ROWS if rows <= FEW_ROWS[0].tile_m else MANY_ROWS


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Layer:
    """Pad `w` where its length asks for it and choose the cut.

    NotAvailable without a CUDA GPU that has the copy engine, unless Triton's interpreter is on.
    """
    w = state["w"]
    if os.environ.get("TRITON_INTERPRET") != "1" and (
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] < 9
    ):
        raise NotAvailable("triton_epilogue needs a CUDA GPU of compute capability 9.0 or later")
    ffn, hidden = w.shape
    unit = 16 // w.element_size()
    padded = torch.nn.functional.pad(w, (0, -hidden % unit)).contiguous()
    layer = _Layer(padded, state["bias"].contiguous(), axes["batch"])
    x = w.new_empty(axes["batch"], hidden).normal_()
    y = w.new_empty(axes["batch"], ffn)
    layer.config = tuning.best(
        source=__file__,
        key=(axes["batch"], hidden, ffn, str(w.dtype)),
        configs=configs(axes["batch"], w.dtype),
        run=lambda config: layer(x, y, config),
    )
    return layer


def run(layer: _Layer, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One call; writes all of out["y"] [batch, ffn]."""
    layer(inputs["x"], out["y"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The ReLU lets through where its result is above zero; the rest is the layer's."""
    through = grads["y"] * (out["y"] > 0)
    return {"x": through @ state["w"], "w": through.T @ inputs["x"], "bias": through.sum(0)}
