"""Rung 6, autotuned: programs that stay, tiles by the copy engine, and the cut chosen by trying.

Programs take tile after tile, in an order that keeps the tiles at work near each other in the L2
cache; tiles come and go by tensor descriptors (TMA). Few rows are a product of their own kind, all
reading of weights, and have cuts of their own. Odd n and k are padded: `b` once, `a` in every call.
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
    raise NotAvailable("triton_6_autotuned needs Triton: pip install triton") from error

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
    Config(tile_m=128, tile_n=256, depth=64, group=8, halves=False, stages=3, warps=8),
    Config(tile_m=128, tile_n=256, depth=64, group=8, halves=True, stages=4, warps=8),
    Config(tile_m=128, tile_n=128, depth=64, group=8, halves=False, stages=4, warps=4),
    Config(tile_m=128, tile_n=256, depth=64, group=16, halves=True, stages=4, warps=8),
)
FEW_ROWS = (
    Config(tile_m=64, tile_n=128, depth=128, group=8, halves=False, stages=4, warps=4),
    Config(tile_m=64, tile_n=64, depth=128, group=8, halves=False, stages=6, warps=4),
    Config(tile_m=64, tile_n=256, depth=64, group=8, halves=False, stages=5, warps=4),
)
# Blocks small enough for the shared memory that fp32 operands take twice as much of.
WIDE = (Config(tile_m=64, tile_n=64, depth=32, group=8, halves=False, stages=3, warps=4),)


@triton.jit
def _placed(index, rows, cols, GROUP: tl.constexpr):
    """Matrix, tile row and tile column: down GROUP rows of tiles before going right."""
    matrix = rows * cols
    at = index % matrix
    first = at // (GROUP * cols) * GROUP
    high = tl.minimum(rows - first, GROUP)
    inside = at % (GROUP * cols)
    return index // matrix, first + inside % high, inside // high


@triton.jit
def _stored(c_desc, c_ptr, part, z, row, col, m, n, BY_ENGINE: tl.constexpr):
    rows: tl.constexpr = part.shape[0]
    cols: tl.constexpr = part.shape[1]
    part = part.to(c_ptr.dtype.element_ty)
    if BY_ENGINE:
        c_desc.store([z, row, col], part.reshape(1, rows, cols))
    else:
        y = row + tl.arange(0, rows)[:, None]
        x = col + tl.arange(0, cols)[None, :]
        at = (z.to(tl.int64) * m + y) * n + x
        tl.store(c_ptr + at, part, mask=(y < m) & (x < n))


@triton.jit
def _autotuned(
    a_desc, b_desc, c_desc, c_ptr, batch, m, n, k,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    HALVES: tl.constexpr, PROGRAMS: tl.constexpr, BY_ENGINE: tl.constexpr,
):  # fmt: skip
    rows = tl.cdiv(m, TILE_M)
    cols = tl.cdiv(n, TILE_N)
    for index in tl.range(tl.program_id(0), batch * rows * cols, PROGRAMS):
        z, y, x = _placed(index, rows, cols, GROUP)
        total = tl.zeros([TILE_M, TILE_N], tl.float32)
        for step in range(tl.cdiv(k, DEPTH)):
            a = a_desc.load([z, y * TILE_M, step * DEPTH]).reshape(TILE_M, DEPTH)
            b = b_desc.load([z, step * DEPTH, x * TILE_N]).reshape(DEPTH, TILE_N)
            # TF32 would lose what fp32 promises; for 16-bit operands it has no effect.
            total = tl.dot(a, b, total, input_precision="ieee")
        if HALVES:
            both = tl.permute(tl.reshape(total, (TILE_M, 2, TILE_N // 2)), (0, 2, 1))
            left, right = tl.split(both)
            _stored(c_desc, c_ptr, left, z, y * TILE_M, x * TILE_N, m, n, BY_ENGINE)
            col = x * TILE_N + TILE_N // 2
            _stored(c_desc, c_ptr, right, z, y * TILE_M, col, m, n, BY_ENGINE)
        else:
            _stored(c_desc, c_ptr, total, z, y * TILE_M, x * TILE_N, m, n, BY_ENGINE)


class _Product:
    """One weight at one cut."""

    def __init__(self, b: Tensor, axes: Mapping[str, int]) -> None:
        self.b = b
        self.padded = b.new_zeros(axes["batch"], axes["m"], b.shape[1])
        self.config = configs(axes["m"], b.dtype)[0]
        self.programs = FEW_PROGRAMS
        if b.device.type == "cuda":
            self.programs = torch.cuda.get_device_properties(b.device).multi_processor_count

    def __call__(self, a: Tensor, c: Tensor, config: Config | None = None) -> None:
        cut = config or self.config
        batch, m, n = c.shape
        if not addressable(a) or a.shape[2] != self.b.shape[1]:
            self.padded[:, :m, : a.shape[2]].copy_(a)
            a = self.padded[:, :m]
        tiles = batch * triton.cdiv(m, cut.tile_m) * triton.cdiv(n, cut.tile_n)
        wide = cut.tile_n // 2 if cut.halves else cut.tile_n
        whole = addressable(c)
        _autotuned[(min(tiles, self.programs),)](
            TensorDescriptor.from_tensor(a, [1, cut.tile_m, cut.depth]),
            TensorDescriptor.from_tensor(self.b, [1, cut.depth, cut.tile_n]),
            TensorDescriptor.from_tensor(c, [1, cut.tile_m, wide]) if whole else None,
            c, batch, m, n, self.b.shape[1],
            TILE_M=cut.tile_m, TILE_N=cut.tile_n, DEPTH=cut.depth, GROUP=cut.group,
            HALVES=cut.halves, PROGRAMS=self.programs, BY_ENGINE=whole,
            num_stages=cut.stages, num_warps=cut.warps,
        )  # fmt: skip


def configs(rows: int, dtype: torch.dtype) -> tuple[Config, ...]:
    """The cuts worth trying, the one to fall back on first."""
    if dtype == torch.float32:
        return WIDE
    return FEW_ROWS if rows <= FEW_ROWS[0].tile_m else MANY_ROWS


def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Product:
    """Pad `b` where its sides ask for it and choose the cut.

    NotAvailable without a CUDA GPU that has the copy engine, unless Triton's interpreter is on.
    """
    b = state["b"]
    if os.environ.get("TRITON_INTERPRET") != "1" and (
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] < 9
    ):
        raise NotAvailable("triton_6_autotuned needs a CUDA GPU of compute capability 9.0 or later")
    batch, k, n = b.shape
    unit = 16 // b.element_size()
    b = torch.nn.functional.pad(b, (0, -n % unit, 0, -k % unit)).contiguous()
    product = _Product(b, axes)
    a = b.new_empty(batch, axes["m"], k).normal_()
    c = b.new_empty(batch, axes["m"], n)
    product.config = tuning.best(
        source=__file__,
        key=(batch, axes["m"], n, k, str(b.dtype)),
        configs=configs(axes["m"], b.dtype),
        run=lambda config: product(a, c, config),
    )
    return product


def run(product: _Product, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """One product; writes all of out["c"] [batch, m, n]."""
    product(inputs["a"], out["c"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """The gradients of a product are two products, by the library."""
    return {
        "a": grads["c"] @ state["b"].transpose(1, 2),
        "b": inputs["a"].transpose(1, 2) @ grads["c"],
    }
