"""Quantiles of Student's t for integer degrees of freedom, standard library only."""

import math
from functools import cache

_HALVINGS = 200


def two_sided(t: float, degrees: int) -> float:
    """P(|T| <= t), by the finite series 26.7.3 and 26.7.4 of Abramowitz and Stegun."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    if degrees % 2:
        term, total = cosine, cosine if degrees > 1 else 0.0
        for k in range(3, degrees - 1, 2):
            term *= (k - 1) / k * cosine**2
            total += term
        return 2 / math.pi * (angle + sine * total)
    term = total = 1.0
    for k in range(2, degrees - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    return sine * total


@cache
def critical(confidence: float, degrees: int) -> float:
    """The t with P(|T| <= t) = confidence; ValueError below one degree of freedom."""
    if degrees < 1 or not 0 < confidence < 1:
        raise ValueError(f"no t for confidence {confidence} and {degrees} degrees of freedom")
    low, high = 0.0, 1.0
    while two_sided(high, degrees) < confidence:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if two_sided(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return high
