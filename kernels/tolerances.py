"""Tolerances by dtype and length of the reduction.

A value that is rounded `roundings` times to its dtype has a relative error of about
u * sqrt(roundings), u being the dtype's unit roundoff; a sum of `terms` products kept in fp32, as
tensor cores and libraries do for 16-bit operands too, one of about 2**-24 * sqrt(terms) (roundings
assumed independent: Higham and Mary, A new approach to probabilistic rounding error analysis,
2019). The largest of many millions of elements is about six standard deviations out, so

    max_abs = 6 * (u * sqrt(roundings) + 2**-24 * sqrt(terms))

for results of size 1; max_rel is half of it, and the cap for any one element ten times it. In fp32
every element must match. In 16 bits 999 of 1000 must, because a softmax magnifies the rounding of
its scores where two keys are nearly equal.

It detects attention in TF32, fp16 or bf16 inside an fp32 step, in bf16 inside an fp16 step, and in
8 bits inside a 16-bit step (tests/kernels/test_tolerances.py). It does not detect fp16 inside a
bf16 step, or sums kept in fp16 in a short reduction; both are as accurate as required.
"""

from __future__ import annotations

import math

from kernels.definition import Tolerance

UNIT_ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_SIGMAS = 6.0
_SIXTEEN_BIT_SHARE = 0.999


def tolerance(dtype: str, *, terms: int, roundings: int) -> Tolerance:
    """The tolerance of results of size 1; bounds have two digits, for readability."""
    stored = UNIT_ROUNDOFF[dtype] * math.sqrt(roundings)
    summed = UNIT_ROUNDOFF["float32"] * math.sqrt(terms)
    max_abs = _SIGMAS * (stored + summed)
    return Tolerance(
        max_abs=_two_digits(max_abs),
        max_rel=_two_digits(max_abs / 2),
        matched_share=1.0 if dtype == "float32" else _SIXTEEN_BIT_SHARE,
        hard_cap_abs=_two_digits(10 * max_abs),
    )


def _two_digits(bound: float) -> float:
    return float(f"{bound:.1e}")


def tolerances(*, terms: int, roundings: int) -> dict[str, Tolerance]:
    """Tolerances by dtype; `terms` is the longest reduction, `roundings` the stored steps."""
    return {dtype: tolerance(dtype, terms=terms, roundings=roundings) for dtype in UNIT_ROUNDOFF}
