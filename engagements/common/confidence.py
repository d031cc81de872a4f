"""The confidence level of a measured interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def level(summary: Mapping[str, Any]) -> float | None:
    """The confidence level of the interval shown: of the look at which the run stopped, which is
    above the sealed one where a run is looked at repeatedly. None without an interval."""
    if summary.get("low") is None:
        return None
    looks = summary.get("looks") or ()
    stopped = looks[-1]["confidence"] if looks else summary.get("confidence")
    return None if stopped is None else float(stopped)


def shown_level(value: float) -> str:
    """A confidence level in percent, with one decimal where it has any: 95%, 98.3%."""
    return f"{round(100 * value, 1):g}%"
