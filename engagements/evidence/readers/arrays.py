"""Array types of columns."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.integer[Any]]
Flags: TypeAlias = NDArray[np.bool_]


def rows_by(values: Integers, rows: Integers) -> dict[int, Integers]:
    """Group `rows` by their value in `values`."""
    if not len(rows):
        return {}
    order = rows[np.argsort(values[rows], kind="stable")]
    numbers, firsts = np.unique(values[order], return_index=True)
    parts = np.split(order, firsts[1:])
    return dict(zip(numbers.tolist(), parts, strict=True))
