"""Candidates that a benchmark must refuse, and its reference as one: sources made of others'."""

from typing import Any

from kernels import candidate_templates

_ZEROS = """

def run(prepared, inputs, out):
    for tensor in out.values():
        tensor.zero_()
"""

_RAISING = """

def run(prepared, inputs, out):
    raise RuntimeError("the slot was called")
"""

_ZERO_GRADIENTS = """

_honest_gradients = gradients


def gradients(state, inputs, out, grads, axes):
    found = _honest_gradients(state, inputs, out, grads, axes)
    return {name: grad.mul(0) for name, grad in found.items()}
"""

_COARSE = """

import torch as _torch

_full_run = run


def run(prepared, inputs, out):
    _full_run(prepared, {{name: _coarse(tensor) for name, tensor in inputs.items()}}, out)


def _coarse(tensor):
    if not tensor.is_floating_point():
        return tensor
    return tensor.to(_torch.{dtype}).to(tensor.dtype)
"""

_REFERENCE = """

def prepare(state, axes):
    return state, axes


def run(prepared, inputs, out):
    state, axes = prepared
    for name, result in reference(state=state, inputs=inputs, axes=axes).items():
        out[name].copy_(result)
"""

LOWER = {"float32": "float16", "float16": "float8_e4m3fn", "bfloat16": "float8_e4m3fn"}


def zeros(source: str) -> str:
    """A candidate that writes zeros."""
    return source + _ZEROS


def raising(source: str) -> str:
    """A candidate that fails as soon as the step calls it."""
    return source + _RAISING


def zero_gradients(source: str) -> str:
    """A candidate whose gradients are zeros."""
    return source + _ZERO_GRADIENTS


def rounded(source: str, dtype: str) -> str:
    """A candidate that rounds its inputs to `dtype`."""
    return source + _COARSE.format(dtype=dtype)


def reference(document: dict[str, Any]) -> str:
    """The benchmark's reference as a candidate, with its rounding to the outputs' dtype."""
    source: str = document["files"]["reference.py"] + _REFERENCE
    if candidate_templates.trains(document["definition"]):
        source += "\n\n" + candidate_templates.GRADIENTS
    return source
