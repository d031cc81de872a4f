"""A finding: the outcome of a check, its sources and its texts, as plain data.

Shares are fractions of 1, ratios are times over, `None` is 'not measured'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from engagements.audit.rules.figures import Figures, decode
from engagements.audit.rules.labels import Outcome

SCHEMA = "twofold.finding/1"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """The source of a value.

    kind: file (stored evidence, with its digest), answer (of the questionnaire), stated (typed
    in, without proof), catalogue (the coverage data), run (a signed record, with its digest).
    """

    kind: Literal["file", "answer", "stated", "catalogue", "run"]
    name: str
    digest: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sourced(Generic[T]):
    """A value with its source."""

    value: T
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """Evidence to collect for an unknown, with the exact command; without one, ask a person."""

    what: str
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One check's outcome.

    `value` and `threshold` are numbers in `unit` where the outcome is based on one; `shown` and
    `wanted` are the same in words. `sentence` is for the customer, `paragraph` for an engineer.
    `questions` are for the vendor of the kernel. `figures` holds the tables and the chart.
    """

    check: str
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
    """Serialise a finding as JSON data with its schema."""
    return {"schema": SCHEMA, **msgspec.to_builtins(finding)}


def from_data(data: dict[str, Any]) -> Finding:
    """Restore a stored finding. ValueError for another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"This finding is not of schema {SCHEMA}.")
    plain = {key: value for key, value in data.items() if key != "schema"}
    return msgspec.convert(plain, Finding, dec_hook=decode)
