"""What has to be right about a run beside its samples: each control, judged from the record.

The referee writes down what it saw (`observations`, telemetry, ceilings); these functions say
what follows, so that anyone can repeat them. A control that fails makes the run invalid; one
that was not measured says why, and fails nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.controls import (
    baseline_band,
    ecc,
    exclusive,
    one_by_one,
    roofline,
    same_code,
    steadiness,
    working_set,
)
from benchmarks.harness.controls.outcome import Control

__all__ = ["Control", "judge"]

_ALL: tuple[Callable[[Mapping[str, Any]], Control], ...] = (
    same_code.judge,
    baseline_band.judge,
    one_by_one.judge,
    roofline.judge,
    working_set.judge,
    exclusive.judge,
    steadiness.judge,
    ecc.judge,
)


def judge(record: Mapping[str, Any]) -> list[Control]:
    """Every control of a record whose replicates are complete."""
    return [each(record) for each in _ALL]
