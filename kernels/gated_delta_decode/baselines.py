"""What one gets off the shelf: the formula in torch, eager and compiled, and FLA's kernel."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.separate import separate
from kernels.solutions import Solution

UNIT_EPS = 1e-6


def _unit(x: Tensor) -> Tensor:
    wide = x.float()
    return wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + UNIT_EPS)


def _log_decay(a: Tensor, a_log: Tensor, dt_bias: Tensor) -> Tensor:
    return -a_log.exp() * F.softplus(a.float() + dt_bias)


def _step(
    a_log: Tensor,
    dt_bias: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    memory: Tensor,
    out: Tensor,
    memory_next: Tensor,
) -> None:
    group = v.shape[1] // k.shape[1]
    query, key = (_unit(x).repeat_interleave(group, 1)[..., None] for x in (q, k))
    decayed = memory * _log_decay(a, a_log, dt_bias).exp()[..., None, None]
    missing = v.float() - (decayed * key).sum(-2)
    update = b.float().sigmoid()[..., None] * missing
    memory_next.copy_(decayed + key * update[:, :, None])
    out.copy_((memory_next * query).sum(-2) * k.shape[-1] ** -0.5)


def _by(name: str, work: Callable[..., None]) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        return state["a_log"], state["dt_bias"]

    def run(
        gating: tuple[Tensor, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        given = (inputs[name] for name in ("q", "k", "v", "a", "b", "memory"))
        work(*gating, *given, *separate(out["out"], out["memory_next"]))

    return Solution(name=name, prepare=prepare, run=run)


def eager() -> Solution:
    """Operation by operation, in float32."""
    return _by("eager", _step)


def compiled() -> Solution:
    """The same as torch.compile makes it: the memory is read once for each of two sums."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")
    return _by("compiled", torch.compile(_step, dynamic=False))


def fla() -> Solution:
    """Flash Linear Attention's Triton kernel; it allocates its results, which are copied."""
    if not torch.cuda.is_available():
        raise NotAvailable("FLA's kernels need a CUDA GPU")
    if importlib.util.find_spec("fla") is None:
        raise NotAvailable("FLA is not installed: pip install flash-linear-attention")
    from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

    def work(
        a_log: Tensor,
        dt_bias: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        a: Tensor,
        b: Tensor,
        memory: Tensor,
        out: Tensor,
        memory_next: Tensor,
    ) -> None:
        made, last = fused_recurrent_gated_delta_rule(
            *(tensor.contiguous()[:, None] for tensor in (q, k, v)),
            g=_log_decay(a, a_log, dt_bias)[:, None],
            beta=b.float().sigmoid()[:, None],
            initial_state=memory,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
        )
        out.copy_(made[:, 0])
        memory_next.copy_(last)

    return _by("fla", work)


BASELINES: dict[str, Callable[[], Solution]] = {"eager": eager, "compiled": compiled, "fla": fla}
