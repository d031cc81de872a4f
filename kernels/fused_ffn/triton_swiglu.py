"""Gate, up, silu and multiply in one Triton kernel; the down projection stays the library's.

Gate and up rows are packed in turn, so that both numbers of a pair lie in one thread's registers
and the inner state is written once, multiplied out. What that can save is little: the matmuls are
most of the time, and the library's are at the machine's peak (README.md).
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.fused_ffn.backward import network_gradients
from kernels.tensor_maps import addressable

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    raise NotAvailable("triton_swiglu needs Triton 3.4 or later: pip install triton") from error

# What tl.dot takes at least.
LEAST = 16


@dataclass(frozen=True, kw_only=True)
class Config:
    """A tile, how many tiles of rows go together through the L2 cache, and how it is run."""

    block_m: int
    block_n: int
    block_k: int
    group: int
    warps: int
    stages: int


@dataclass(frozen=True)
class _Prepared:
    gate_up: Tensor  # [2 * ffn, hidden], gate and up in turn
    down: Tensor  # [hidden, ffn]
    inner: Tensor  # [tokens, ffn]
    config: Config


@triton.jit
def _gated(
    x_desc,
    w_desc,
    out_desc,
    tokens,
    N: tl.constexpr,
    K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    columns: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    me = tl.program_id(0)
    first = me // (GROUP * columns) * GROUP
    rows = tl.minimum(tl.cdiv(tokens, BLOCK_M) - first, GROUP)
    place = me % (GROUP * columns)
    m, n = first + place % rows, place // rows
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        x = x_desc.load([m * BLOCK_M, k])
        w = w_desc.load([n * BLOCK_N, k])
        acc = tl.dot(x, w.T, acc, input_precision=PRECISION)
    gate, up = tl.split(acc.reshape(BLOCK_M, BLOCK_N // 2, 2))
    inner = gate / (1.0 + tl.exp(-gate)) * up
    out_desc.store([m * BLOCK_M, n * (BLOCK_N // 2)], inner.to(out_desc.dtype))


def default_config(item_bytes: int) -> Config:
    """A tile for Hopper; fp32 takes one that fits its shared memory."""
    config = Config(block_m=128, block_n=256, block_k=64, group=16, warps=8, stages=3)
    return config if item_bytes == 2 else replace(config, block_n=128, block_k=32)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    base = default_config(item_bytes)
    cuts = [(128, 256, 8, 3), (128, 256, 8, 4), (128, 128, 8, 3), (128, 128, 4, 3), (64, 256, 4, 3)]
    return {
        f"m{m} n{n} w{warps} s{stages} g{group}": replace(
            base, block_m=m, block_n=n, warps=warps, stages=stages, group=group
        )
        for m, n, warps, stages in cuts
        for group in (8, 16)
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Pack gate and up in turn, lay out the inner state.

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    down = state["w_down"]
    if not down.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_swiglu needs a CUDA GPU; on the processor use torch_in_place")
    return _Prepared(
        gate_up=state["w_gate_up"].transpose(0, 1).reshape(-1, axes["hidden"]),
        down=down,
        inner=down.new_empty(axes["tokens"], axes["ffn"]),
        config=_fitted(config or default_config(down.element_size()), axes),
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through the network; writes all of out["out"]."""
    x, config = inputs["x"], prepared.config
    if not addressable(x):
        x = x.contiguous()
    columns, width = prepared.gate_up.shape
    rows = triton.cdiv(x.shape[0], config.block_m)
    _gated[(rows * triton.cdiv(columns, config.block_n),)](
        TensorDescriptor.from_tensor(x, [config.block_m, config.block_k]),
        TensorDescriptor.from_tensor(prepared.gate_up, [config.block_n, config.block_k]),
        TensorDescriptor.from_tensor(prepared.inner, [config.block_m, config.block_n // 2]),
        x.shape[0],
        N=columns,
        K=width,
        BLOCK_M=config.block_m,
        BLOCK_N=config.block_n,
        BLOCK_K=config.block_k,
        GROUP=config.group,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )
    torch.mm(prepared.inner, prepared.down.T, out=out["out"])


def gradients(
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    out: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Of both weights and x."""
    return network_gradients(state, inputs, grads["out"])


def _fitted(config: Config, axes: Mapping[str, int]) -> Config:
    """No tile larger than small weights or a short prompt can fill."""

    def least(block: int, side: int) -> int:
        return min(block, max(LEAST, triton.next_power_of_2(side)))

    return replace(
        config,
        block_m=least(config.block_m, axes["tokens"]),
        block_n=least(config.block_n, 2 * axes["ffn"]),
        block_k=least(config.block_k, axes["hidden"]),
    )
