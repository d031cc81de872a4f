"""A finding: what a check computed, from what, and in which words.

Plain data. Shares are fractions of 1, ratios are times over, `None` is 'not known'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from engagements.audit.rules.figures import Figures
from engagements.audit.rules.words import Check, Outcome

SCHEMA = "twofold.finding/1"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where something is known from.

    kind: file (kept evidence, with its digest), answer (somebody's word, on a day), stated
    (typed in, proven by nothing), catalogue (the coverage data), run (a signed record, with
    its digest).
    """

    kind: Literal["file", "answer", "stated", "catalogue", "run"]
    name: str
    digest: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known(Generic[T]):
    """A value and where it is known from."""

    value: T
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """What would decide an unknown: what to collect, and the exact command.

    Without a command it is a question to a person.
    """

    what: str
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One check's outcome.

    `value` and `threshold` are numbers in `unit` where the outcome rests on one; `shown` and
    `wanted` say the same in words. `sentence` is for the customer, `paragraph` for an engineer.
    `questions` are to be put to whoever proposes the kernel. `figures` is what charts and tables
    of this check draw.
    """

    check: Check
    outcome: Outcome
    sentence: str
    paragraph: str
    shown: str = ""
    wanted: str = ""
    value: float | None = None
    threshold: float | None = None
    unit: str = ""
    evidence: tuple[Source, ...] = ()
    to_collect: tuple[Missing, ...] = ()
    questions: tuple[str, ...] = ()
    figures: Figures | None = None


def as_data(finding: Finding) -> dict[str, Any]:
    """The finding as it is stored: plain JSON data with its schema."""
    return {"schema": SCHEMA, **msgspec.to_builtins(finding)}


def from_data(data: dict[str, Any]) -> Finding:
    """The finding of stored data. ValueError when it is of another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"This finding is not of schema {SCHEMA}.")
    plain = {key: value for key, value in data.items() if key != "schema"}
    return msgspec.convert(plain, Finding)
