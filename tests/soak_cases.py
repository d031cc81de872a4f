"""Parametrizations whose whole product is left to `make soak`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return all cases, of which only every `step`-th runs in `make test`.

    Choose a step with no divisor in common with the length of the last axis of a product: then
    each value of that axis still occurs.
    """
    return [
        pytest.param(*case, marks=[] if number % step == 0 else [pytest.mark.soak])
        for number, case in enumerate(cases)
    ]
