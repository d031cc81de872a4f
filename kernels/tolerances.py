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

These bounds leave room for part of the work in 8 bits. So the RMS error over all checked elements
is compared with the baseline's own: honest Programs of the catalogue have 0.8 to 1.22 times their
baseline's, operators up to 1.8 times, 3.4 with scores stored in 16 bits. In fp16, a prefix's V
alone in INT8 has 3.0 and 15 times, half of the layers 5.5 and 58, gate and up alone 11 and 22, and
FP8 more (tests/kernels/test_rms.py). In bf16, INT8 with a scale for every row is nearly as
accurate: the operator's bound refuses these, the Program's not all.

It detects attention in TF32, fp16 or bf16 inside an fp32 step, in bf16 inside an fp16 step, and in
8 bits inside a 16-bit step (tests/kernels/test_tolerances.py). It does not detect fp16 inside a
bf16 step, or sums kept in fp16 in a short reduction; both are as accurate as required.
"""

from __future__ import annotations

import math

from kernels.definition import Tolerance

UNIT_ROUNDOFF = {
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
# Eight-bit operators have Definitions and special values of their own (`special_values`).
DTYPES = ("float32", "float16", "bfloat16")
PROGRAM_RMS_FACTOR, OPERATOR_RMS_FACTOR = 1.35, 2.2
ARITHMETIC = (
    "products of {dtype} operands, sums in float32; no operand, stored intermediate or product in "
    "fewer bits than {dtype} has, except where the Definition itself gives it"
)
_SIGMAS = 6.0
_NARROW_SHARE = 0.999


def tolerance(
    dtype: str, *, terms: int, roundings: int, rms_factor: float = PROGRAM_RMS_FACTOR
) -> Tolerance:
    """The tolerance of results of size 1; bounds have two digits, for readability."""
    stored = UNIT_ROUNDOFF[dtype] * math.sqrt(roundings)
    summed = UNIT_ROUNDOFF["float32"] * math.sqrt(terms)
    max_abs = _SIGMAS * (stored + summed)
    return Tolerance(
        max_abs=_two_digits(max_abs),
        max_rel=_two_digits(max_abs / 2),
        matched_share=1.0 if dtype == "float32" else _NARROW_SHARE,
        hard_cap_abs=_two_digits(10 * max_abs),
        rms_factor=rms_factor,
    )


def _two_digits(bound: float) -> float:
    return float(f"{bound:.1e}")


def tolerances(
    *,
    terms: int,
    roundings: int,
    rms_factor: float = PROGRAM_RMS_FACTOR,
    dtypes: tuple[str, ...] = DTYPES,
) -> dict[str, Tolerance]:
    """Tolerances by dtype; `terms` is the longest reduction, `roundings` the stored steps."""
    return {
        dtype: tolerance(dtype, terms=terms, roundings=roundings, rms_factor=rms_factor)
        for dtype in dtypes
    }


def operator_tolerances(
    *, terms: int, roundings: int, rms_factor: float = OPERATOR_RMS_FACTOR
) -> dict[str, Tolerance]:
    """Tolerances of an operator alone, whose RMS error no residual stream dilutes."""
    return tolerances(terms=terms, roundings=roundings, rms_factor=rms_factor)


def arithmetic(dtype: str) -> str:
    """The arithmetic that a benchmark in `dtype` asks for, in words."""
    return ARITHMETIC.format(dtype=dtype)
