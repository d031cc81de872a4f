"""Small, awkward sizes and random tensors of any operator, from its Definition alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernels import catalogue, registration, trials
from kernels.definition import Definition

# What runs on the processor: torch's, and Triton's through its interpreter.
HERE = ("torch_", "triton_")


def candidates_here() -> list[tuple[str, str]]:
    """Operator and candidate, for every candidate that a processor can run."""
    return [
        (operator, name)
        for operator in catalogue.operators()
        for name in catalogue.candidates(operator)
        if name.startswith(HERE)
    ]


def sizes_of(operator: str) -> dict[str, dict[str, int]]:
    """The tiny workload's axes with the free ones at 1, odd, and odd in another way."""
    what = catalogue.definition(operator)
    tiny = dict(catalogue.presets(operator)["tiny"].workloads[0].axes)
    free = what.held_back.free
    return {
        "everything free is one": {**tiny, **dict.fromkeys(free, 1)},
        "odd": {**tiny, **{axis: _odd(tiny[axis], 2) for axis in free}},
        "odd and small": {
            **tiny,
            **{axis: _odd(tiny[axis], 8 if place % 2 else 3) for place, axis in enumerate(free)},
        },
        "the tiny workload": tiny,
    }


def arguments_of(what: Definition, axes: Mapping[str, int]) -> tuple[Any, ...]:
    """What a caller hands to the registered operator: state, inputs, scalars."""
    tensors = [
        tensor
        for specs in (what.state, what.inputs)
        for tensor in trials.draw(specs, axes, torch.float32, "cpu").values()
    ]
    return (*tensors, *(axes[axis] for axis in registration.scalars(what)))


def _odd(length: int, share: int) -> int:
    """An odd length of about a share, at least 3 where the axis is as long as that."""
    found = max(min(3, length), -(-length // share))
    return found if found % 2 else found - 1
