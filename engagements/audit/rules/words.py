"""The words that findings and verdicts are put in. The models offer the same as choices."""

from __future__ import annotations

from enum import StrEnum, auto


class Check(StrEnum):
    """The six checks, in the order in which they are asked."""

    HOT = "hot"
    OFF_THE_SHELF = "off_the_shelf"
    STABLE = "stable"
    SURVIVES = "survives"
    MAINTAIN = "maintain"
    WORTH = "worth"


class Outcome(StrEnum):
    """What a check comes to. `unknown` is no pass."""

    PASS = auto()
    FAIL = auto()
    UNKNOWN = auto()

    @property
    def label(self) -> str:
        """The outcome as a word on a page."""
        return self.value.capitalize()


class Advice(StrEnum):
    """What six findings amount to."""

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
