"""Baselines of this operator: one honest, and some that do not behave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.definition import NotAvailable
from kernels.solutions import Solution


def _prepare(state: Mapping[str, Tensor], axes: Mapping[str, int]) -> Any:
    return state["bias"]


def _run(prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    torch.softmax(inputs["x"] + prepared, -1, out=out["y"])


def _run_thrice(prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    for _ in range(3):
        _run(prepared, inputs, out)


def _run_wrong(prepared: Tensor, inputs: Mapping[str, Tensor], out: Mapping[str, Tensor]) -> None:
    torch.softmax(inputs["x"], -1, out=out["y"])


def _missing() -> Solution:
    raise NotAvailable("no such library here: install it with pip install it")


BASELINES = {
    "plain": lambda: Solution(name="plain", prepare=_prepare, run=_run),
    "thrice": lambda: Solution(name="thrice", prepare=_prepare, run=_run_thrice),
    "wrong": lambda: Solution(name="wrong", prepare=_prepare, run=_run_wrong),
    "missing": _missing,
}
