"""How far off an honest result may be: one rule, by dtype and length of the reduction.

A value that is stored `roundings` times on its way, each time to the nearest number of its
dtype, is off by about u * sqrt(roundings) of its size, u being the dtype's unit roundoff; a sum
of `terms` products kept in fp32 (what tensor cores and libraries do for 16-bit operands too)
by about 2**-24 * sqrt(terms) of it (roundings taken for independent: Higham and Mary, A new
approach to probabilistic rounding error analysis, 2019). The largest of many millions of
elements is about six standard deviations out, so

    max_abs = 6 * (u * sqrt(roundings) + 2**-24 * sqrt(terms))

for results of size 1, half of it again relative to the reference, and ten times it as the cap
for any one element. In fp32 every element must match. In 16 bits 999 of 1000 must: a softmax
magnifies the rounding of its scores where two keys are nearly even.

What it catches: attention in TF32, fp16 or bf16 inside an fp32 step, in bf16 inside an fp16
step, in 8 bits inside a 16-bit step (tests/kernels/test_tolerances.py). What it cannot: fp16
inside a bf16 step, or sums kept in fp16 in a short reduction; both are as right as was asked.
"""

from __future__ import annotations

import math

from kernels.definition import Tolerance

UNIT_ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_SIGMAS = 6.0
_SIXTEEN_BIT_SHARE = 0.999


def tolerance(dtype: str, *, terms: int, roundings: int) -> Tolerance:
    """The tolerance of results of size 1; bounds have two digits, so that they can be read."""
    stored = UNIT_ROUNDOFF[dtype] * math.sqrt(roundings)
    summed = UNIT_ROUNDOFF["float32"] * math.sqrt(terms)
    max_abs = _SIGMAS * (stored + summed)
    return Tolerance(
        max_abs=_readable(max_abs),
        max_rel=_readable(max_abs / 2),
        matched_share=1.0 if dtype == "float32" else _SIXTEEN_BIT_SHARE,
        hard_cap_abs=_readable(10 * max_abs),
    )


def _readable(bound: float) -> float:
    return float(f"{bound:.1e}")


def tolerances(*, terms: int, roundings: int) -> dict[str, Tolerance]:
    """One for every dtype; `terms` is the longest reduction, `roundings` the stored steps."""
    return {dtype: tolerance(dtype, terms=terms, roundings=roundings) for dtype in UNIT_ROUNDOFF}
