"""Special values of 8-bit floating-point operators, for `HeldBack.special`. No torch here.

Eight-bit floats end early: e4m3fn at 448 without infinities, e5m2 at 57,344. A kernel must
saturate or overflow as the Definition's reference does, and keep subnormals, which begin at 2**-6
and 2**-14.
"""

from __future__ import annotations

from kernels.definition import Contents, SpecialValues

# The largest and the smallest normal number.
_RANGES = {"float8_e4m3fn": (448.0, 2.0**-6), "float8_e5m2": (57_344.0, 2.0**-14)}


def of_eight_bits(dtype: str, *tensors: str, gain: float = 1.0) -> tuple[SpecialValues, ...]:
    """Trials of the named inputs, whose contents are of size 1.

    `gain` multiplies the tolerance at the format's largest numbers. KeyError for another dtype.
    """
    largest, smallest = _RANGES[dtype]
    trials = [
        # A normal draw of a third of the largest number exceeds it in one of 370 elements.
        SpecialValues(
            name="the largest numbers", contents=_scaled(tensors, largest / 3), gain=gain
        ),
        SpecialValues(name="subnormal numbers", contents=_scaled(tensors, smallest / 2)),
        SpecialValues(name="zeros", contents=_scaled(tensors, 0.0)),
        SpecialValues(name="a NaN", contents={tensors[0]: Contents(plant="nan")}),
    ]
    if dtype == "float8_e5m2":
        trials.append(SpecialValues(name="an Inf", contents={tensors[0]: Contents(plant="inf")}))
    return tuple(trials)


def _scaled(tensors: tuple[str, ...], scale: float) -> dict[str, Contents]:
    return {name: Contents(scale=scale) for name in tensors}
