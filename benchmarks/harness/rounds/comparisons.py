"""Compare an output with the reference by the sealed tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of one output tensor with the reference.

    `max_rel_error` is relative to the larger of |reference| and the tolerance's `max_abs`, so that
    references near zero do not dominate. `matched` of the `elements` are within tolerance.
    """

    name: str
    max_abs_error: float
    max_rel_error: float
    elements: int
    matched: int
    failure: str | None


def compare(
    name: str,
    output: torch.Tensor,
    reference: torch.Tensor,
    tolerance: Mapping[str, float],
) -> Comparison:
    """Compare elementwise in the reference's precision; NaN equals NaN, Inf equals Inf."""
    wide = reference.dtype if reference.dtype.is_floating_point else torch.float64
    expected = reference.to(wide)
    got = output.to(wide)
    same = (got == expected) | (got.isnan() & expected.isnan())
    error = torch.where(same, 0.0, (got - expected).abs())
    # NaN instead of a number, or Inf instead of another value, is an infinite error.
    error = torch.where(error.isfinite(), error, torch.inf)
    size = torch.where(expected.isfinite(), expected.abs(), 0.0)
    allowed = tolerance["max_abs"] + tolerance["max_rel"] * size
    matched = int((error <= allowed).sum())
    floor = max(tolerance["max_abs"], torch.finfo(wide).tiny)
    max_abs = float(error.max()) if error.numel() else 0.0
    max_rel = float((error / size.clamp(min=floor)).max()) if error.numel() else 0.0
    return Comparison(
        name=name,
        max_abs_error=max_abs,
        max_rel_error=max_rel,
        elements=error.numel(),
        matched=matched,
        failure=_failure(name, matched, error.numel(), max_abs, tolerance),
    )


def _failure(
    name: str, matched: int, elements: int, max_abs: float, tolerance: Mapping[str, float]
) -> str | None:
    share = matched / elements if elements else 1.0
    if share < tolerance["matched_share"]:
        needed = tolerance["matched_share"]
        return (
            f"{name}: {share:.4%} of the elements match the reference, {needed:.4%} must; "
            f"furthest off by {max_abs:.4g}"
        )
    if max_abs > tolerance["hard_cap_abs"]:
        cap = tolerance["hard_cap_abs"]
        return f"{name}: one element is off by {max_abs:.4g}, more than the cap of {cap:.4g}"
    return None
