"""Outcomes of a check and of an audit, also the choices of the models."""

from __future__ import annotations

from enum import StrEnum, auto


class Outcome(StrEnum):
    """The outcome of a check. An unknown does not count as a pass."""

    PASS = auto()
    FAIL = auto()
    UNKNOWN = auto()

    @property
    def label(self) -> str:
        """The label of the outcome."""
        return self.value.capitalize()


class Advice(StrEnum):
    """The outcome of an audit."""

    CUSTOM = "custom"
    REDIRECT = "redirect"
    DECLINE = "decline"

    @property
    def label(self) -> str:
        """The label of the advice."""
        return {
            Advice.CUSTOM: "Custom kernel work may be right",
            Advice.REDIRECT: "Redirect to cheaper interventions",
            Advice.DECLINE: "Decline",
        }[self]
