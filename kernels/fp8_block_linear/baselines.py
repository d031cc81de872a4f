"""What torch gives: 16-bit weights, or cuBLASLt's product by blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution

BLOCK = 128
# cuBLASLt's batches are multiples of it.
ROWS = 16


@dataclass(frozen=True)
class _Prepared:
    weight: Tensor  # [out_features, in_features]
    scale: Tensor  # [out_blocks, in_blocks], padded
    x: Tensor  # [rows, in_features]: the batch, padded to ROWS
    x_scale: Tensor  # [in_blocks, rows]


def _wide(x: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    grouped = x.unflatten(1, (-1, BLOCK)).float() * scale[..., None]
    return grouped.flatten(1).to(dtype)


def widened() -> Solution:
    """Twice the bytes of the weights in bfloat16, four times in float32."""

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> dict[str, Tensor]:
        kinds = (torch.bfloat16, torch.float16) if state["weight"].is_cuda else ()
        every = state["scale"].repeat_interleave(BLOCK, 0)
        return {str(kind): _wide(state["weight"], every, kind) for kind in kinds} or {
            "": _wide(state["weight"], every, torch.float32)
        }

    def run(
        weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]
    ) -> None:
        wide = weights.get(str(out["out"].dtype), next(iter(weights.values())))
        x = _wide(inputs["x"], inputs["x_scale"], wide.dtype)
        out["out"].copy_(torch.mm(x, wide.T))

    return Solution(name="widened", prepare=prepare, run=run)


def scaled_mm() -> Solution:
    """cuBLASLt with scales of 1 x 128 and 128 x 128: CUDA 12.9 and Hopper."""
    if not torch.cuda.is_available():
        raise NotAvailable("torch's scaled_mm by blocks needs a Hopper GPU")
    kinds: Any = getattr(F, "ScalingType", None)
    if kinds is None or not hasattr(F, "scaled_mm"):
        raise NotAvailable("torch's scaled_mm by blocks needs torch 2.10 or later")

    def prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> _Prepared:
        # A row of blocks after the other, each padded to a multiple of four scales.
        scale = state["scale"]
        padded = F.pad(scale, (0, -scale.shape[1] % 4)).contiguous()
        rows = axes["batch"] + -axes["batch"] % ROWS
        return _Prepared(
            weight=state["weight"],
            scale=padded,
            x=torch.zeros(rows, scale.shape[1] * BLOCK, device=scale.device).to(
                state["weight"].dtype
            ),
            x_scale=scale.new_zeros(scale.shape[1], rows),
        )

    def run(prepared: _Prepared, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
        x, batch = inputs["x"], len(inputs["x"])
        if batch != len(prepared.x) or not x.is_contiguous():
            prepared.x.view(torch.uint8)[:batch].copy_(x.view(torch.uint8))
            x = prepared.x
        # Scales of activations lie a column after the other.
        prepared.x_scale[:, :batch].copy_(inputs["x_scale"].t())
        made = F.scaled_mm(
            x,
            prepared.weight.t(),
            prepared.x_scale.t(),
            kinds.BlockWise1x128,
            prepared.scale.t(),
            kinds.BlockWise128x128,
            output_dtype=out["out"].dtype,
        )
        out["out"].copy_(made[:batch])

    return Solution(name="scaled_mm", prepare=prepare, run=run)


BASELINES: dict[str, Callable[[], Solution]] = {"widened": widened, "scaled_mm": scaled_mm}
