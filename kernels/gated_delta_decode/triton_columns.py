"""The memory read once and written once in Triton: a program has some columns of one head.

All sums run down the columns, so that programs share nothing; the tile stays in registers between
both sums, which a compiler that fuses by loops reads again. Gates and norms are computed by every
program. Under TRITON_INTERPRET=1 it runs on the processor.
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
    raise NotAvailable("triton_columns needs Triton: pip install triton") from error

UNIT_EPS = 1e-6


@dataclass(frozen=True, kw_only=True)
class Config:
    """Columns of a program and its warps."""

    columns: int
    warps: int


CONFIGS = tuple(
    Config(columns=columns, warps=warps)
    for columns, warps in ((32, 4), (64, 4), (32, 2), (16, 2), (64, 8), (128, 8), (16, 1))
)


@dataclass(frozen=True)
class _Prepared:
    a_log: Tensor  # [heads], as dt_bias
    dt_bias: Tensor
    config: Config


@triton.jit
def _step(
    q_ptr, k_ptr, v_ptr, a_ptr, b_ptr, memory_ptr, a_log_ptr, dt_bias_ptr, out_ptr, next_ptr,
    stride_q, stride_k, stride_v, stride_a, stride_b, stride_memory, eps, scale,
    GROUP: tl.constexpr, KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, KEYS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    head, sequence = tl.program_id(1), tl.program_id(2).to(tl.int64)
    heads = tl.num_programs(1)
    key, col = tl.arange(0, KEYS), tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    wide, held = key < KEY_DIM, col < VALUE_DIM
    inside = (head * KEY_DIM + key[:, None]) * VALUE_DIM + col[None, :]
    known = wide[:, None] & held[None, :]
    memory_at = memory_ptr + sequence * stride_memory + inside
    memory = tl.load(memory_at, mask=known, other=0.0, eviction_policy="evict_first")

    own = (head // GROUP) * KEY_DIM + key
    q = tl.load(q_ptr + sequence * stride_q + own, mask=wide, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + sequence * stride_k + own, mask=wide, other=0.0).to(tl.float32)
    v_at = v_ptr + sequence * stride_v + head * VALUE_DIM + col
    v = tl.load(v_at, mask=held, other=0.0).to(tl.float32)
    a = tl.load(a_ptr + sequence * stride_a + head).to(tl.float32) + tl.load(dt_bias_ptr + head)
    b = tl.load(b_ptr + sequence * stride_b + head).to(tl.float32)
    q *= scale / tl.sqrt_rn(tl.sum(q * q, 0) + eps)
    k *= 1.0 / tl.sqrt_rn(tl.sum(k * k, 0) + eps)
    softplus = tl.maximum(a, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(a)))
    decay = tl.exp(-tl.exp(tl.load(a_log_ptr + head)) * softplus)

    memory *= decay
    missing = v - tl.sum(memory * k[:, None], 0)
    memory += k[:, None] * (missing / (1.0 + tl.exp(-b)))[None, :]
    out = tl.sum(memory * q[:, None], 0)
    tl.store(next_ptr + sequence * heads * (KEY_DIM * VALUE_DIM) + inside, memory, mask=known)
    tl.store(out_ptr + (sequence * heads + head) * VALUE_DIM + col, out, mask=held)


def variants(item_bytes: int) -> dict[str, Config]:
    """Cuts worth trying on a new GPU, by a short name."""
    return {f"c{one.columns} w{one.warps}": one for one in CONFIGS}


def prepare(
    state: Mapping[str, Tensor], axes: Mapping[str, int], config: Config | None = None
) -> _Prepared:
    """The gates' parameters and the quickest cut. NotAvailable without a CUDA GPU."""
    a_log, dt_bias = state["a_log"], state["dt_bias"]
    if not a_log.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotAvailable("triton_columns needs a CUDA GPU; on the processor use torch_in_place")
    if config is None:
        trial = _trial(a_log, axes)
        config = tuning.best(
            source=__file__,
            key=tuple(axes[name] for name in ("batch", "heads", "key_dim", "value_dim")),
            configs=CONFIGS,
            run=lambda one: run(_Prepared(a_log, dt_bias, one), trial, trial),
        )
    return _Prepared(a_log, dt_bias, config)


def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    """Writes out["out"] [batch, heads, value_dim] and out["memory_next"]."""
    q, k, v, a, b, memory = (inputs[name] for name in ("q", "k", "v", "a", "b", "memory"))
    batch, heads, key_dim, value_dim = memory.shape
    config = prepared.config
    _step[(triton.cdiv(value_dim, config.columns), heads, batch)](
        q, k, v, a, b, memory, prepared.a_log, prepared.dt_bias, out["out"], out["memory_next"],
        q.stride(0), k.stride(0), v.stride(0), a.stride(0), b.stride(0), memory.stride(0),
        UNIT_EPS, key_dim**-0.5,
        GROUP=heads // q.shape[1], KEY_DIM=key_dim, VALUE_DIM=value_dim,
        KEYS=triton.next_power_of_2(key_dim), COLUMNS=config.columns, num_warps=config.warps,
    )  # fmt: skip


def _trial(like: Tensor, axes: Mapping[str, int]) -> dict[str, Tensor]:
    """Inputs and outputs of a call for tuning."""
    batch, heads = axes["batch"], axes["heads"]
    keys = like.new_ones(batch, axes["key_heads"], axes["key_dim"], dtype=torch.bfloat16)
    values = like.new_ones(batch, heads, axes["value_dim"], dtype=torch.bfloat16)
    gates = like.new_ones(batch, heads, dtype=torch.bfloat16)
    memory = like.new_empty(batch, heads, axes["key_dim"], axes["value_dim"]).normal_()
    return {
        "q": keys,
        "k": keys,
        "v": values,
        "a": gates,
        "b": gates,
        "memory": memory,
        "out": torch.empty_like(values),
        "memory_next": torch.empty_like(memory),
    }
