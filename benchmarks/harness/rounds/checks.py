"""Check outputs: against the reference by the sealed tolerance, and for repeated inputs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.harness.devices.layouts import Layout

Tensors = Mapping[str, torch.Tensor]
Tolerance = Mapping[str, float]


@dataclass
class CheckTotals:
    """Totals of the candidate's output checks in one workload of one replicate."""

    calls_checked: int = 0
    calls_probed: int = 0
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    elements: int = 0
    matched: int = 0
    repeats_checked: int = 0
    repeats_identical: int = 0
    squares: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By output, the sums of squares of the errors and of the reference."""

    def check_call(self, outputs: Tensors, expected: Tensors, tolerance: Tolerance) -> str | None:
        """Compare one call's outputs with the reference; the failure, if any."""
        for name, output in outputs.items():
            found = compare(name, output, expected[name], tolerance)
            self.max_abs_error = max(self.max_abs_error, found.max_abs_error)
            self.max_rel_error = max(self.max_rel_error, found.max_rel_error)
            self.elements += found.elements
            self.matched += found.matched
            if output.is_floating_point():
                # Of all ranks together.
                whole = name.partition("@")[0]
                errors, sizes = self.squares.get(whole, (0.0, 0.0))
                self.squares[whole] = errors + found.squares[0], sizes + found.squares[1]
            if found.failure:
                return f"gave a wrong result: {found.failure}"
        self.calls_checked += 1
        return None

    def check_repeats(
        self,
        layout: Layout,
        rounds: tuple[torch.Tensor, torch.Tensor],
        tolerance: Tolerance,
        *,
        chained: bool,
    ) -> str | None:
        """Compare the outputs of two rounds that had the same inputs.

        Differing bits are counted (atomics cause honest ones). A difference beyond the tolerance is
        a failure: a race, or invented results. Of `chained` calls, those count whose predecessors
        agree in every bit, because only they had the same inputs.
        """
        earlier, later = rounds
        alike = [True] * layout.calls
        for region in layout.regions:
            bits = [layout.slots(memory, region)[:, : region.elements] for memory in rounds]
            same = (bits[0] == bits[1]).all(dim=1).tolist()
            alike = [both and one for both, one in zip(alike, same, strict=True)]
        counted = [
            call for call in range(layout.calls) if not (chained and call) or alike[call - 1]
        ]
        changed = [call for call in counted if not alike[call]]
        self.repeats_checked += len(counted)
        self.repeats_identical += len(counted) - len(changed)
        for call in changed:
            answers = layout.tensors(earlier, call)
            for name, other in layout.tensors(later, call).items():
                found = compare(name, other, answers[name], tolerance)
                if found.failure:
                    return (
                        f"gave two answers to one input: {name} of two calls differs by up to "
                        f"{found.max_abs_error:.4g}"
                    )
        return None

    def rms(self) -> dict[str, float | None]:
        """By output, the RMS error over the RMS of the reference; None where it is infinite."""
        return {
            name: _finite(math.sqrt(errors / sizes) if sizes else 0.0)
            for name, (errors, sizes) in self.squares.items()
        }

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data; an infinite error becomes null."""
        return {
            "calls_checked": self.calls_checked,
            "calls_probed": self.calls_probed,
            "max_abs_error": _finite(self.max_abs_error),
            "max_rel_error": _finite(self.max_rel_error),
            "matched_share": self.matched / self.elements if self.elements else None,
            "repeats_checked": self.repeats_checked,
            "repeats_identical": self.repeats_identical,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of one output tensor with the reference.

    `max_rel_error` is relative to the larger of |reference| and the tolerance's `max_abs`, so that
    references near zero do not dominate. `matched` of the `elements` are within tolerance.
    `squares` are the sums of squares of the errors and of the finite references.
    """

    max_abs_error: float
    max_rel_error: float
    elements: int
    matched: int
    squares: tuple[float, float]
    failure: str | None


def compare(
    name: str, output: torch.Tensor, reference: torch.Tensor, tolerance: Tolerance
) -> Comparison:
    """Compare elementwise in the reference's precision; NaN equals NaN, Inf equals Inf."""
    wide = reference.dtype if reference.dtype.is_floating_point else torch.float64
    expected, got = reference.to(wide), output.to(wide)
    same = (got == expected) | (got.isnan() & expected.isnan())
    error = torch.where(same, 0.0, (got - expected).abs())
    # NaN instead of a number, or Inf instead of another value, is an infinite error.
    error = torch.where(error.isfinite(), error, torch.inf)
    size = torch.where(expected.isfinite(), expected.abs(), 0.0)
    matched = int((error <= tolerance["max_abs"] + tolerance["max_rel"] * size).sum())
    floor = max(tolerance["max_abs"], torch.finfo(wide).tiny)
    max_abs = float(error.max()) if error.numel() else 0.0
    share = matched / error.numel() if error.numel() else 1.0
    failure = None
    if share < (needed := tolerance["matched_share"]):
        failure = (
            f"{name}: {share:.4%} of the elements match the reference, {needed:.4%} must; "
            f"furthest off by {max_abs:.4g}"
        )
    elif max_abs > (cap := tolerance["hard_cap_abs"]):
        failure = f"{name}: one element is off by {max_abs:.4g}, more than the cap of {cap:.4g}"
    return Comparison(
        max_abs_error=max_abs,
        max_rel_error=float((error / size.clamp(min=floor)).max()) if error.numel() else 0.0,
        elements=error.numel(),
        matched=matched,
        squares=(float(error.double().square().sum()), float(size.double().square().sum())),
        failure=failure,
    )


def written_outside(
    layout: Layout, memory: torch.Tensor, canaries: Mapping[str, int]
) -> str | None:
    """Which guard of an output arena was overwritten, if any."""
    for region in layout.regions:
        canary = canaries[region.name]
        if bool((layout.slots(memory, region)[:, region.elements :] != canary).any()):
            return f"wrote past the end of {region.name}"
        if bool((layout.before(memory, region) != canary).any()):
            return f"wrote before the beginning of {region.name}"
    return None
