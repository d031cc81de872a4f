"""Two grouped matmuls in Triton over rows laid out by expert, SwiGLU within the first.

Tiles come through tensor descriptors, which on Hopper are its bulk copies. Gate and up rows are
packed in turn, so that both numbers of a pair lie in one thread's registers and the inner state
is all that is written. For any GPU; cuda_gluon is the same for Hopper with specialised warps.
"""

# A kernel's pointers and constexpr arguments have Triton's types, which Python cannot say.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from kernels.definition import NotAvailable
from kernels.moe_routing.backward import expert_gradients

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    from kernels.moe_routing.dispatch import Dispatch, most_tiles
except ImportError as error:
    raise NotAvailable("triton_grouped needs Triton 3.4 or later: pip install triton") from error

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
    dispatch: Dispatch
    packed: Tensor  # [rows, hidden] tokens by expert
    inner: Tensor  # [rows, inner]
    given: Tensor  # [rows, hidden] what the experts gave
    gate_up: Tensor  # [experts * 2 * inner, hidden], gate and up in turn
    down: Tensor  # [experts * hidden, inner]
    config: Config


@triton.jit
def _grouped(
    a_desc,
    w_desc,
    out_desc,
    expert_of_ptr,
    tiles_ptr,
    N: tl.constexpr,
    K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    SWIGLU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    columns: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    me = tl.program_id(0)
    first = me // (GROUP * columns) * GROUP
    rows = tl.minimum(tl.load(tiles_ptr) - first, GROUP)
    place = me % (GROUP * columns)
    if rows > 0 and place < rows * columns:
        m, n = first + place % rows, place // rows
        begin = tl.load(expert_of_ptr + m) * N + n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            a = a_desc.load([m * BLOCK_M, k])
            w = w_desc.load([begin, k])
            acc = tl.dot(a, w.T, acc, input_precision=PRECISION)
        if SWIGLU:
            gate, up = tl.split(acc.reshape(BLOCK_M, BLOCK_N // 2, 2))
            inner = gate / (1.0 + tl.exp(-gate)) * up
            out_desc.store([m * BLOCK_M, n * (BLOCK_N // 2)], inner.to(out_desc.dtype))
        else:
            out_desc.store([m * BLOCK_M, n * BLOCK_N], acc.to(out_desc.dtype))


def default_config(item_bytes: int) -> Config:
    """What measured best on an H200 in bf16; fp32 takes tiles that fit its shared memory."""
    config = Config(block_m=128, block_n=256, block_k=64, group=8, warps=8, stages=3)
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
        for group in (4, 8, 16)
    }


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """Pack gate and up in turn, lay out scratch for the worst loads.

    NotAvailable without a CUDA GPU, unless Triton's interpreter is on.
    """
    down = state["w_down"]
    if down.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_grouped needs a CUDA GPU; on the processor use torch_sorted")
    chosen = _fitted(config or default_config(down.element_size()), axes)
    rows = most_tiles(axes, chosen.block_m) * chosen.block_m
    return _Prepared(
        dispatch=Dispatch.of(axes, down.device, chosen.block_m),
        packed=down.new_zeros(rows, axes["hidden"]),
        inner=down.new_zeros(rows, axes["inner"]),
        given=down.new_zeros(rows, axes["hidden"]),
        gate_up=state["w_gate_up"].transpose(1, 2).reshape(-1, axes["hidden"]),
        down=down.reshape(-1, axes["inner"]),
        config=chosen,
    )


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Tokens x [tokens, hidden] through their experts; writes all of out["out"]."""
    dispatch = prepared.dispatch
    dispatch.scatter(inputs, prepared.packed)
    _multiply(prepared, prepared.packed, prepared.gate_up, prepared.inner, swiglu=True)
    _multiply(prepared, prepared.inner, prepared.down, prepared.given, swiglu=False)
    dispatch.gather(prepared.given, out["out"])


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
    config, dispatch = prepared.config, prepared.dispatch
    columns = len(weights) // len(dispatch.loads)
    groups = triton.cdiv(len(dispatch.expert_of), config.group)
    wide = config.block_n // 2 if swiglu else config.block_n
    _grouped[(groups * config.group * triton.cdiv(columns, config.block_n),)](
        TensorDescriptor.from_tensor(a, [config.block_m, config.block_k]),
        TensorDescriptor.from_tensor(weights, [config.block_n, config.block_k]),
        TensorDescriptor.from_tensor(out, [config.block_m, wide]),
        dispatch.expert_of,
        dispatch.tiles,
        N=columns,
        K=a.shape[1],
        BLOCK_M=config.block_m,
        BLOCK_N=config.block_n,
        BLOCK_K=config.block_k,
        GROUP=config.group,
        SWIGLU=swiglu,
        # TF32 would lose what fp32 promises; for 16-bit operands the setting has no effect.
        PRECISION="ieee",
        num_warps=config.warps,
        num_stages=config.stages,
    )


def _fitted(config: Config, axes: Mapping[str, int]) -> Config:
    """No tile larger than small weights or a small prompt can fill."""

    def least(block: int, side: int) -> int:
        return min(block, max(LEAST, triton.next_power_of_2(side)))

    return replace(
        config,
        block_m=least(config.block_m, axes["tokens"]),
        block_n=least(config.block_n, min(axes["hidden"], 2 * axes["inner"])),
        block_k=least(config.block_k, min(axes["hidden"], axes["inner"])),
    )
