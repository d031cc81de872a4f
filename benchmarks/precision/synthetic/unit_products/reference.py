"""One product in fp32, or in fp64 on the processor."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def reference_step(
    *, state: Mapping[str, Tensor], inputs: Mapping[str, Tensor], axes: Mapping[str, int]
) -> dict[str, Tensor]:
    """`y` [rows, columns]."""
    dtype = torch.float64 if inputs["x"].device.type == "cpu" else torch.float32
    return {"y": inputs["x"].to(dtype) @ state["w"][0].to(dtype)}


# The Program is the operator.
reference = reference_step
