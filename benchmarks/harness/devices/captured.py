"""Captured contents, changed for every call so that no result can be stored.

Floats are multiplied by new random factors from 7/8 to 9/8, each element by its own: more than any
tolerance allows, and outliers stay outliers. Indices are renamed by a new random permutation of the
axis that they point into, the same for all tensors of a call. Offsets and other integers stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.harness.devices.layouts import Layout, torch_dtype
from benchmarks.records import captured_tensors

_SPREAD = 0.125


@dataclass(frozen=True, kw_only=True)
class CapturedTensor:
    """A captured tensor; `axis` is the one that its indices point into, of `length`, or "".

    `wide` has floats in float32, in which the factors are multiplied.
    """

    wide: torch.Tensor
    axis: str
    length: int

    @property
    def is_float(self) -> bool:
        return self.wide.is_floating_point()


Captured = Mapping[str, CapturedTensor]


def of_workloads(
    document: Mapping[str, Any], files: Mapping[str, bytes], device: torch.device
) -> dict[str, Captured]:
    """The captured tensors of each workload that has some. Raises CapturedError."""
    opened = captured_tensors.opened(document, files)
    specs = captured_tensors.specs_of(document["definition"])
    found: dict[str, Captured] = {}
    for load in document["workloads"]:
        if "captured" in load:
            found[load["name"]] = {
                name: _tensor(dtype, bits, specs[name], load["axes"], device)
                for name, (dtype, bits) in opened[load["captured"]].items()
            }
    return found


def _tensor(
    dtype: str,
    bits: "np.ndarray[Any, Any]",
    spec: Any,
    axes: Mapping[str, int],
    device: torch.device,
) -> CapturedTensor:
    # A copy: the file's bytes cannot be written.
    whole = torch.from_numpy(bits.reshape(-1).view(np.uint8).copy())
    tensor = whole.view(torch_dtype(dtype)).view(*bits.shape).to(device)
    pointing = bool(spec.below) and spec.distribution != "offsets"
    return CapturedTensor(
        wide=tensor.float() if tensor.is_floating_point() else tensor,
        axis=spec.below if pointing else "",
        length=axes[spec.below] if pointing else 0,
    )


def write(
    memory: torch.Tensor, layout: Layout, captured: Captured, source: torch.Generator
) -> None:
    """Write captured contents over the drawn ones, changed anew for every call."""
    if not captured:
        return
    for call in range(layout.calls):
        names: dict[str, torch.Tensor] = {}
        for name, tensor in layout.tensors(memory, call).items():
            held = captured.get(name)
            # The operator alone may have another tensor of this name.
            if held is None or held.wide.shape != tensor.shape:
                continue
            if held.is_float != tensor.is_floating_point():
                continue
            if held.is_float:
                _write_floats(tensor, held.wide, source)
            elif held.axis:
                if held.axis not in names:
                    names[held.axis] = torch.randperm(
                        held.length, generator=source, device=tensor.device
                    )
                tensor.copy_(names[held.axis][held.wide.long()])
            else:
                tensor.copy_(held.wide)


def _write_floats(tensor: torch.Tensor, wide: torch.Tensor, source: torch.Generator) -> None:
    factors = torch.empty_like(wide).uniform_(1 - _SPREAD, 1 + _SPREAD, generator=source)
    most = torch.finfo(tensor.dtype).max
    # Conversion to eight bits does not saturate.
    tensor.copy_(factors.mul_(wide).clamp_(-most, most))
