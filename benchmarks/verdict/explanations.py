"""A verdict in words: the one explanation of a record's summary, for `verify`, pages and PDFs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

Summary = Mapping[str, Any]

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "met": "The whole interval lies at or above the target.",
        "missed": "The whole interval lies below the target.",
        "inconclusive": (
            "The interval contains the target, so the target was neither met nor missed."
        ),
        "invalid": "The run did not follow the protocol, so its times do not count.",
        "disqualified": (
            "The candidate broke the rules of the benchmark, so its times do not count."
        ),
    }
)
NOISE: Final = (
    "The interval excludes the target, but the machine was too noisy or too often interrupted for "
    "a verdict."
)


def reason(summary: Summary) -> str:
    """The reason of a verdict in one sentence."""
    interval = summary.get("low"), summary.get("high")
    if is_noise(summary["verdict"], *interval, summary["target"]):
        return NOISE
    return REASONS[summary["verdict"]]


def details(summary: Summary) -> list[str]:
    """Observations beside the interval: noise, interruptions, rule violations.

    Its first reason of a measured run repeats the figures and `reason`.
    """
    return list(summary["reasons"][summary.get("low") is not None :])


def is_noise(verdict: str, low: float | None, high: float | None, target: float) -> bool:
    """Whether a run is inconclusive although its interval excludes the target: for noise."""
    if verdict != "inconclusive" or low is None or high is None:
        return False
    return low >= target or high < target


def level(summary: Summary) -> float | None:
    """The confidence level of the interval shown, that of the evaluation at which the run stopped.

    It is above the sealed one where a run is evaluated repeatedly. None without an interval.
    """
    if summary.get("low") is None:
        return None
    looks = summary.get("looks") or ()
    stopped = looks[-1]["confidence"] if looks else summary.get("confidence")
    return None if stopped is None else float(stopped)


def shown_level(value: float) -> str:
    """A confidence level in percent, with one decimal where it has any: 95%, 98.3%."""
    return f"{round(100 * value, 1):g}%"


def confidence(summary: Summary) -> str:
    """The confidence of the interval in a sentence; empty without an interval."""
    stopped = level(summary)
    if stopped is None:
        return ""
    sealed = shown_level(float(summary["confidence"]))
    if shown_level(stopped) == sealed:
        return f"The interval has the sealed confidence of {sealed}."
    return (
        f"This is a {shown_level(stopped)} interval: the run was evaluated more than once, and the "
        f"stricter level keeps the sealed confidence of {sealed} for the run as a whole."
    )
