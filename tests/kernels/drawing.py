"""Small, awkward sizes and random tensors of any operator, from its Definition alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kernels import catalogue, registration, solutions, trials
from kernels.definition import Definition, SpecialValues, TensorSpec, Tolerance

# What runs on the processor: torch's, and Triton's through its interpreter.
HERE = ("torch_", "triton_")


def candidates_here() -> list[tuple[str, str]]:
    """Operator and candidate, for every candidate that a processor can run."""
    return [
        (operator, name)
        for operator in catalogue.operators_of_one_rank()
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
        # Fewer than a vector register holds: kernels have code of their own for what is left over.
        "few": {**tiny, **{axis: min(tiny[axis], 5) for axis in free}},
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


def poisoned(
    specs: tuple[TensorSpec, ...], axes: Mapping[str, int], dtype: torch.dtype
) -> dict[str, Tensor]:
    """Output buffers in which an element that nobody writes shows."""
    return {spec.name: trials.poison(spec, axes, dtype, "cpu") for spec in specs}


def gapped(what: Definition, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inputs with gaps along the axes that the Definition allows, as the referee lays them."""
    given = {}
    for spec in what.inputs:
        sizes = spec.sizes(dict(_axes_of(what, inputs)))
        steps = _steps(spec, sizes, what.held_back.strided)
        span = 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
        room = torch.zeros(span, dtype=inputs[spec.name].dtype).as_strided(sizes, steps)
        given[spec.name] = room.copy_(inputs[spec.name])
    return given


def planted(tensors: Mapping[str, Tensor], special: SpecialValues) -> dict[str, Tensor]:
    """The tensors as a special value asks for: scaled, and one odd element in the middle."""
    changed = dict(tensors)
    for name, how in special.contents.items():
        if name not in tensors:
            continue
        tensor = tensors[name] * how.scale if how.scale != 1.0 else tensors[name].clone()
        if how.plant is not None:
            tensor.view(-1)[tensor.numel() // 2] = float(how.plant)
        changed[name] = tensor
    return changed


def wider(tolerance: Tolerance, gain: float) -> Tolerance:
    """The tolerance where contents magnify rounding, as the referee applies it."""
    return replace(
        tolerance,
        max_abs=tolerance.max_abs * gain,
        max_rel=tolerance.max_rel * gain,
        hard_cap_abs=tolerance.hard_cap_abs * gain,
    )


def autograd_gradients(
    what: Definition,
    state: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    grads: Mapping[str, Tensor],
    axes: Mapping[str, int],
    wanted: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """What autograd makes of the reference, in fp64, for the tensors named in `wanted`."""
    leaves = {
        name: tensor.detach().double().requires_grad_()
        for name, tensor in {**state, **inputs}.items()
        if name in wanted
    }
    out = solutions.reference(what.operator).reference(
        state={**state, **{name: leaves[name] for name in state if name in leaves}},
        inputs={**inputs, **{name: leaves[name] for name in inputs if name in leaves}},
        axes=axes,
    )
    total = sum((out[name].double() * grad.double()).sum() for name, grad in grads.items())
    assert isinstance(total, Tensor)
    found = torch.autograd.grad(total, list(leaves.values()))
    return dict(zip(leaves, found, strict=True))


def _axes_of(what: Definition, inputs: Mapping[str, Tensor]) -> Iterator[tuple[str, int]]:
    for spec in what.inputs:
        for side, length in zip(spec.shape, inputs[spec.name].shape, strict=True):
            if isinstance(side, str):
                yield side, length


def _steps(spec: TensorSpec, sizes: tuple[int, ...], strided: tuple[str, ...]) -> tuple[int, ...]:
    """Strides in elements; one step along an axis of `strided` jumps over eight."""
    steps, step = [], 1
    for side, size in zip(reversed(spec.shape), reversed(sizes), strict=True):
        step += 8 if side in strided else 0
        steps.append(step)
        step *= size
    return tuple(reversed(steps))
