"""A check: its question, texts, value format and the function that computes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.finding import Finding
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.common.errors import ApplicationError
from engagements.common.ratios import SIGN, with_sign

MAX_VALUE_CHARACTERS = 200


@dataclass(frozen=True)
class Meanings:
    """The meaning of each outcome, for one kind of reader."""

    passed: str
    failed: str
    unknown: str

    def of(self, outcome: str) -> str:
        """The meaning of an outcome (an Outcome)."""
        return {
            Outcome.PASS: self.passed,
            Outcome.FAIL: self.failed,
            Outcome.UNKNOWN: self.unknown,
        }[Outcome(outcome)]


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, parsed from typed text.

    `words` are the units accepted after the number, as a regular expression; a bare number is
    in `unit`. Numbers outside `low` to `high` are declined.
    """

    unit: str
    words: str
    low: Decimal
    high: Decimal | None = None

    def read(self, text: str) -> Decimal | None:
        """Parse the number in `text`; None without one in an accepted unit."""
        number = r"(?<![\w.,])(\d+(?:\.\d+)?)"
        alone = re.fullmatch(rf"\s*{number}\s*", text)
        found = alone or re.search(rf"{number}\s*(?:{self.words})", text, re.IGNORECASE)
        return Decimal(found.group(1)) if found else None

    def show(self, number: Decimal | str) -> str:
        """Format a number with its unit."""
        return f"{number}{self.unit}" if self.unit in ("%", SIGN) else f"{number} {self.unit}"


@dataclass(frozen=True)
class Check:
    """One check of the audit. Its module declares it, `rules.CHECKS` lists it.

    `name` has at most 16 characters and is stored with every finding. `why` and `consultant`
    address consultants; `reason` and `customer` address customers, who run models and write no
    kernels. `vendor_question` is put to the vendor of a pitched kernel unless the check passes.
    `find` computes the finding. `expects` returns the outcome of a value where the number alone
    decides it. `asks_people` when the questionnaire collects its missing inputs.
    """

    name: str
    question: str
    why: str
    reason: str
    vendor_question: str
    value_label: str
    value_hint: str
    consultant: Meanings
    customer: Meanings
    find: Callable[[AuditInputs], Finding]
    asks_people: bool = False
    quantity: Quantity | None = None
    expects: Callable[[Decimal], Outcome | None] | None = None

    @property
    def unit(self) -> str:
        """The unit of the value; empty for a value in words."""
        return self.quantity.unit if self.quantity else ""

    def validate(self, value: str, outcome: str) -> str:
        """Validate a typed value against the outcome based on it; return it as stored.

        Raises ApplicationError for a value that is missing, unreadable, out of range, or that
        contradicts `outcome`. Only `unknown` needs no value.
        """
        text = " ".join(value.split())
        if not text:
            if outcome == Outcome.UNKNOWN:
                return ""
            raise ApplicationError(
                f"Enter a value for “{self.question}”: {self.value_hint}",
                code="audit.value_missing",
            )
        if len(text) > MAX_VALUE_CHARACTERS:
            raise ApplicationError(
                f"Shorten the value to {MAX_VALUE_CHARACTERS} characters.",
                code="audit.value_too_long",
            )
        return self._measured(text, outcome) if self.quantity else text

    def _measured(self, text: str, outcome: str) -> str:
        quantity = self.quantity
        assert quantity is not None
        number = quantity.read(text)
        if number is None:
            raise ApplicationError(
                f"“{text}” contains no number in {quantity.unit}. Enter {self.value_hint}",
                code="audit.value_without_number",
            )
        if number < quantity.low or (quantity.high is not None and number > quantity.high):
            raise ApplicationError(
                f"{quantity.show(number)} is out of range. Enter {self.value_hint}",
                code="audit.value_out_of_range",
            )
        expected = self.expects(number) if self.expects else None
        if expected and outcome not in (expected, Outcome.UNKNOWN):
            raise ApplicationError(
                f"{quantity.show(number)} is a {expected.label.lower()} by the rule of this check. "
                f"Record a {expected.label.lower()}, then override it with your reason.",
                code="audit.value_contradicts_outcome",
            )
        if re.fullmatch(r"[\d.]+", text):
            return quantity.show(text)
        return with_sign(text) if quantity.unit == SIGN else text
