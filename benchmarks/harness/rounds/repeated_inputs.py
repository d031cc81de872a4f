"""Compare the outputs of calls that had the same input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.rounds.comparisons import compare


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How many repeated `calls` gave bitwise `identical` outputs.

    Differing bits are recorded (atomics cause honest ones). A difference beyond the tolerance means
    a race or invented results, and is in `failure`.
    """

    calls: int
    identical: int
    failure: str | None


def compare_repeats(
    layout: Layout, memory: torch.Tensor, calls: Sequence[int], tolerance: Mapping[str, float]
) -> Repeats:
    """Compare the outputs of `calls`, which had the same inputs, with those of the first."""
    first, *others = calls
    changed: set[int] = set()
    for region in layout.regions:
        bits = layout.slots(memory, region)[:, : region.elements]
        same = (bits[others] == bits[first]).all(dim=1).tolist()
        changed |= {call for call, alike in zip(others, same, strict=True) if not alike}
    failure = None
    answers = layout.tensors(memory, first)
    for call in sorted(changed):
        for name, other in layout.tensors(memory, call).items():
            comparison = compare(name, other, answers[name], tolerance)
            if comparison.failure and failure is None:
                failure = (
                    f"gave two answers to one input: {name} of two calls differs by up to "
                    f"{comparison.max_abs_error:.4g}"
                )
    return Repeats(calls=len(others), identical=len(others) - len(changed), failure=failure)
