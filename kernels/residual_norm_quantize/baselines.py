"""What one gets off the shelf: the formula in torch, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.separate import separate
from kernels.solutions import Solution

EPS = 1e-5
LEAST_TOP = 1e-10
MOST = 448.0


def _norm_and_quantise(
    weight: Tensor, x: Tensor, residual: Tensor, q: Tensor, scale: Tensor, kept: Tensor
) -> None:
    kept.copy_(x + residual)
    normed = F.rms_norm(kept.float(), weight.shape, weight.float(), EPS)
    scale.copy_(normed.abs().amax(-1).clamp(min=LEAST_TOP) / MOST)
    q.copy_((normed / scale[:, None]).clamp(-MOST, MOST))


def _by(name: str, work: Callable[..., None]) -> Solution:
    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Tensor:
        return state["weight"]

    def run(weight: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        results = separate(out["q"], out["scale"], out["sum"])
        work(weight, inputs["x"], inputs["residual"], *results)

    return Solution(name=name, prepare=prepare, run=run)


def _require_gpu() -> None:
    if not torch.cuda.is_available():
        raise NotAvailable("torch.compile is measured on a CUDA GPU only")


def eager() -> Solution:
    """Operation by operation, mostly in float32."""
    return _by("eager", _norm_and_quantise)


def compiled() -> Solution:
    """The same as torch.compile makes it: on a GPU a Triton kernel."""
    _require_gpu()
    return _by("compiled", _compile())


def compiled_tuned() -> Solution:
    """The same with torch.compile's own search for tile sizes."""
    _require_gpu()
    return _by("compiled_tuned", _compile(max_autotune=True, coordinate_descent_tuning=True))


def _compile(**options: bool) -> Callable[..., None]:
    """Compile one fused kernel that normalises the rounded sum, as the Definition does.

    Without the option it normalises the sum before rounding: on an H100, 2.3% of q then differ.
    """
    every: dict[str, Any] = {"emulate_precision_casts": True, **options}
    compiled: Callable[..., None] = torch.compile(_norm_and_quantise, dynamic=False, options=every)
    return compiled


BASELINES: dict[str, Callable[[], Solution]] = {
    "eager": eager,
    "compiled": compiled,
    "compiled_tuned": compiled_tuned,
}
