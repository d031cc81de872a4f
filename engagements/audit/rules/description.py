"""What one check asks, expects and means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.words import Check, Outcome
from engagements.common.errors import ApplicationError
from engagements.common.ratios import SIGN, with_sign

MAX_VALUE_CHARACTERS = 200


@dataclass(frozen=True)
class Meanings:
    """What each outcome means, in words for one kind of reader."""

    passed: str
    failed: str
    unknown: str

    def of(self, outcome: str) -> str:
        """The words for an outcome (an Outcome)."""
        return {
            Outcome.PASS: self.passed,
            Outcome.FAIL: self.failed,
            Outcome.UNKNOWN: self.unknown,
        }[Outcome(outcome)]


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, read from what a person typed.

    `words` are the units that the number may carry, as a regular expression; a number alone
    is taken to be in `unit`. Outside `low` to `high` the number is a slip.
    """

    unit: str
    words: str
    low: Decimal
    high: Decimal | None = None

    def read(self, text: str) -> Decimal | None:
        """The number in `text`; None when there is none with its unit."""
        number = r"(?<![\w.,])(\d+(?:\.\d+)?)"
        alone = re.fullmatch(rf"\s*{number}\s*", text)
        found = alone or re.search(rf"{number}\s*(?:{self.words})", text, re.IGNORECASE)
        return Decimal(found.group(1)) if found else None

    def show(self, number: Decimal | str) -> str:
        """The number with its unit, as a sentence has them."""
        return f"{number}{self.unit}" if self.unit in ("%", SIGN) else f"{number} {self.unit}"


@dataclass(frozen=True)
class Description:
    """One of the six checks: its question, the value it wants, and what its outcomes mean.

    `expects` says which outcome a value amounts to where a number alone decides; None where
    a person weighs it.
    """

    name: Check
    question: str
    why: str
    value_label: str
    value_hint: str
    consultant: Meanings
    customer: Meanings
    quantity: Quantity | None = None
    expects: Callable[[Decimal], Outcome | None] | None = None

    @property
    def unit(self) -> str:
        """The unit of the value; empty for a value in words."""
        return self.quantity.unit if self.quantity else ""

    def validate(self, value: str, outcome: str) -> str:
        """The value as it is stored, checked against the outcome that is to rest on it.

        Raises Refused for a value that is missing, unreadable, out of range, or that says the
        opposite of `outcome`. Only `unknown` may stand without a value.
        """
        text = " ".join(value.split())
        if not text:
            if outcome == Outcome.UNKNOWN:
                return ""
            raise ApplicationError(
                f"“{self.question}” wants a value: {self.value_hint}", code="audit.todo"
            )
        if len(text) > MAX_VALUE_CHARACTERS:
            raise ApplicationError(
                f"The value is longer than {MAX_VALUE_CHARACTERS} characters.", code="audit.todo"
            )
        return self._measured(text, outcome) if self.quantity else text

    def _measured(self, text: str, outcome: str) -> str:
        quantity = self.quantity
        assert quantity is not None
        number = quantity.read(text)
        if number is None:
            raise ApplicationError(
                f"“{text}” holds no number in {quantity.unit}: {self.value_hint}", code="audit.todo"
            )
        if number < quantity.low or (quantity.high is not None and number > quantity.high):
            raise ApplicationError(
                f"{quantity.show(number)} cannot be: {self.value_hint}", code="audit.todo"
            )
        expected = self.expects(number) if self.expects else None
        if expected and outcome not in (expected, Outcome.UNKNOWN):
            raise ApplicationError(
                f"{quantity.show(number)} is a {expected.label.lower()} by the check's own rule. "
                "Where this case is different, record that and override it with the reason.",
                code="audit.todo",
            )
        if re.fullmatch(r"[\d.]+", text):
            return quantity.show(text)
        return with_sign(text) if quantity.unit == SIGN else text
