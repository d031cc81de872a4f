"""Grouped matmul of several experts' rows on Hopper in Gluon, optionally with SwiGLU.

Programs are persistent and compute tiles of 128 rows of one expert by 256 or 128 columns. One warp
fills a ring of shared-memory stages by bulk copies. Each of two warpgroups multiplies half of the
rows and stores its half of the result by a bulk copy, while the ring is filled for the next tile; a
warpgroup whose half has no rows skips the products. With gate and up rows interleaved, SwiGLU is
computed in a thread's registers.

Gluon is Triton's own lower language (triton.experimental.gluon, Triton 3.6); it has no interpreter.
ImportError without it.
"""

# Triton's own language: pointers carry no annotation, constexpr arguments are upper case.
# ruff: noqa: ANN001, ANN202, N803, N806, RUF005
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

BLOCK_M, BLOCK_K = 128, 64
_CAPABILITY = 9


@dataclass(frozen=True, kw_only=True)
class Order:
    """The width and order of tiles, and the stages of the ring.

    `block_n` is 128 or 256; six stages of 128 or four of 256 fill shared memory. `group` tiles of
    rows share the L2 cache. Every `mixed`-th tile comes from the end of the list (0: none), so that
    experts with few rows, limited by their weights' bytes, run beside busy ones, limited by the
    tensor cores.
    """

    stages: int
    group: int
    block_n: int = 256
    mixed: int = 0


@dataclass(frozen=True)
class Tiles:
    """The expert of every tile; tile i is rows [128 i, 128 (i + 1)). int32 on the device."""

    expert_of: Tensor  # [tiles at most]
    filled: Tensor  # [tiles at most] rows in use of the tile
    count: Tensor  # [1] tiles in use
    experts: int


def runs_on(tensor: Tensor) -> bool:
    """Whether the tensor is 16-bit and on a Hopper GPU."""
    hopper = tensor.is_cuda and torch.cuda.get_device_capability(tensor.device)[0] == _CAPABILITY
    return hopper and tensor.dtype in (torch.bfloat16, torch.float16)


def in_turn(gate_up: Tensor) -> Tensor:
    """Interleave gate and up rows [experts, 2, inner, hidden]: [experts * 2 * inner, hidden]."""
    return gate_up.transpose(-3, -2).reshape(-1, gate_up.shape[-1])


def multiply(
    a: Tensor, weights: Tensor, out: Tensor, *, tiles: Tiles, order: Order, swiglu: bool
) -> None:
    """out[rows] = a[rows] @ weights[expert of the rows].T, queued on the current stream.

    `a` [rows, k], `weights` [experts * n, k], `out` [rows, n], or [rows, n / 2] with `swiglu`,
    which takes columns in pairs of gate and up. All 16-bit and addressable by a tensor map.
    """
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    _grouped[(programs,)](
        _descriptor(a, BLOCK_M, BLOCK_K),
        _descriptor(weights, order.block_n, BLOCK_K),
        _descriptor(out, BLOCK_M // 2, order.block_n // 2),
        tiles.expert_of,
        tiles.filled,
        tiles.count,
        N=len(weights) // tiles.experts,
        K=a.shape[1],
        STAGES=order.stages,
        GROUP=order.group,
        MIXED=order.mixed,
        SWIGLU=swiglu,
        num_warps=4,
    )


def _descriptor(tensor: Tensor, rows: int, columns: int) -> TensorDescriptor:
    kind = gl.bfloat16 if tensor.dtype == torch.bfloat16 else gl.float16
    layout = gl.NVMMASharedLayout.get_default_for([rows, columns], kind)
    return TensorDescriptor.from_tensor(tensor, [rows, columns], layout)


@gluon.jit
def _tile(t, table, COLUMNS: gl.constexpr, GROUP: gl.constexpr, MIXED: gl.constexpr):
    expert_of_ptr, filled_ptr, tiles = table
    first = t // (GROUP * COLUMNS) * GROUP
    rows = gl.minimum(tiles - first, GROUP)
    place = t % (GROUP * COLUMNS)
    m = first + place % rows
    if MIXED:
        m = gl.where(m % MIXED == MIXED - 1, tiles - 1 - m // MIXED, m - m // MIXED)
    return m, place // rows, gl.load(expert_of_ptr + m), gl.load(filled_ptr + m)


@gluon.jit
def _load(
    a_desc,
    w_desc,
    ring,
    table,
    N: gl.constexpr,
    K: gl.constexpr,
    GROUP: gl.constexpr,
    MIXED: gl.constexpr,
):
    a_ring, w_ring, full, empty = ring
    STAGES: gl.constexpr = a_ring.shape[0]
    BLOCK_M: gl.constexpr = a_ring.shape[1]
    BLOCK_N: gl.constexpr = w_ring.shape[1]
    BLOCK_K: gl.constexpr = a_ring.shape[2]
    COLUMNS: gl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    turn = 0
    for t in range(gl.program_id(0), table[2] * COLUMNS, gl.num_programs(0)):
        m, n, expert, _ = _tile(t, table, COLUMNS, GROUP, MIXED)
        for k in range(0, K, BLOCK_K):
            stage = turn % STAGES
            mbarrier.wait(empty.index(stage), (turn // STAGES & 1) ^ 1)
            ready = full.index(stage)
            mbarrier.expect(ready, a_desc.block_type.nbytes + w_desc.block_type.nbytes)
            tma.async_copy_global_to_shared(a_desc, [m * BLOCK_M, k], ready, a_ring.index(stage))
            row = expert * N + n * BLOCK_N
            tma.async_copy_global_to_shared(w_desc, [row, k], ready, w_ring.index(stage))
            turn += 1


@gluon.jit
def _multiply(
    out_desc,
    ring,
    staged,
    table,
    HALF: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    GROUP: gl.constexpr,
    MIXED: gl.constexpr,
    SWIGLU: gl.constexpr,
):
    a_ring, w_ring, full, empty = ring
    STAGES: gl.constexpr = a_ring.shape[0]
    ROWS: gl.constexpr = a_ring.shape[1] // 2
    BLOCK_N: gl.constexpr = w_ring.shape[1]
    BLOCK_K: gl.constexpr = a_ring.shape[2]
    COLUMNS: gl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    own = staged.index(HALF)
    turn = 0
    for t in range(gl.program_id(0), table[2] * COLUMNS, gl.num_programs(0)):
        m, n, _, filled = _tile(t, table, COLUMNS, GROUP, MIXED)
        if filled > HALF * ROWS:
            acc = gl.zeros((ROWS, BLOCK_N), gl.float32, layout)
            for k in range(0, K, BLOCK_K):
                stage = turn % STAGES
                mbarrier.wait(full.index(stage), turn // STAGES & 1)
                a = a_ring.index(stage).slice(HALF * ROWS, ROWS)
                w = w_ring.index(stage).permute((1, 0))
                acc = warpgroup_mma(a, w, acc, use_acc=k > 0, is_async=True)
                # One product stays in flight; the stage of the one before it is free.
                acc = warpgroup_mma_wait(1, deps=[acc])
                mbarrier.arrive(empty.index((turn + STAGES - 1) % STAGES), pred=k > 0)
                turn += 1
            acc = warpgroup_mma_wait(0, deps=[acc])
            mbarrier.arrive(empty.index((turn + STAGES - 1) % STAGES))
            row = m * (2 * ROWS) + HALF * ROWS
            if SWIGLU:
                gate, up = gl.split(acc.reshape((ROWS, BLOCK_N // 2, 2)))
                inner = gate / (1.0 + gl.exp(-gate)) * up
                _store(out_desc, own, inner, row, n * (BLOCK_N // 2))
            else:
                left, right = gl.split(acc.reshape((ROWS, 2, BLOCK_N // 2)).permute((0, 2, 1)))
                _store(out_desc, own, left, row, n * BLOCK_N)
                _store(out_desc, own, right, row, n * BLOCK_N + BLOCK_N // 2)
        else:
            for _k in range(0, K, BLOCK_K):
                stage = turn % STAGES
                mbarrier.wait(full.index(stage), turn // STAGES & 1)
                mbarrier.arrive(empty.index(stage))
                turn += 1
    tma.store_wait(0)


@gluon.jit
def _store(out_desc, own, tile, row, column):
    # The preceding copy must have read its stage.
    tma.store_wait(0)
    own.store(tile.to(own.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(out_desc, [row, column], own)


@gluon.jit
def _grouped(
    a_desc,
    w_desc,
    out_desc,
    expert_of_ptr,
    filled_ptr,
    count_ptr,
    N: gl.constexpr,
    K: gl.constexpr,
    STAGES: gl.constexpr,
    GROUP: gl.constexpr,
    MIXED: gl.constexpr,
    SWIGLU: gl.constexpr,
):
    kind: gl.constexpr = a_desc.dtype
    a_ring = gl.allocate_shared_memory(kind, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    w_ring = gl.allocate_shared_memory(kind, [STAGES] + w_desc.block_type.shape, w_desc.layout)
    staged = gl.allocate_shared_memory(kind, [2] + out_desc.block_type.shape, out_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)
    fence_async_shared()
    ring = (a_ring, w_ring, full, empty)
    table = (expert_of_ptr, filled_ptr, gl.load(count_ptr))
    gl.warp_specialize(
        [
            (_multiply, (out_desc, ring, staged, table, 0, N, K, GROUP, MIXED, SWIGLU)),
            (_multiply, (out_desc, ring, staged, table, 1, N, K, GROUP, MIXED, SWIGLU)),
            (_load, (a_desc, w_desc, ring, table, N, K, GROUP, MIXED)),
        ],
        [4, 1],
        [232, 40],
    )
