"""Outcomes of a check and of an audit. The models offer the same as choices."""

from __future__ import annotations

from enum import StrEnum, auto


class Outcome(StrEnum):
    """The outcome of a check. An unknown does not count as a pass."""

    PASS = auto()
    FAIL = auto()
    UNKNOWN = auto()

    @property
    def label(self) -> str:
        """The outcome as a word on a page."""
        return self.value.capitalize()


class Advice(StrEnum):
    """The outcome of an audit."""

    CUSTOM = "custom"
    REDIRECT = "redirect"
    DECLINE = "decline"

    @property
    def label(self) -> str:
        """The advice as a line on a page."""
        return {
            Advice.CUSTOM: "Custom kernel work may be right",
            Advice.REDIRECT: "Redirect to cheaper interventions",
            Advice.DECLINE: "Decline",
        }[self]
