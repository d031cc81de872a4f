"""Questions and typed answers of the questionnaire, for facts that no file contains.

An answer is stored as JSON and parsed into one of these types. Dates are ISO 8601; money is a
decimal with its currency.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible

MOST_ENTRIES = 50
LONGEST_TEXT = 200
# A year in the name of a GPU is not a figure.
_YEAR = re.compile(r"\b20\d\d\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class NextModel:
    """A planned model. `axes` are the axes of the operator that change with it."""

    name: str
    expected_on: dt.date
    axes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Roadmap:
    """Planned models; empty when no change is planned."""

    models: tuple[NextModel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Maintainer:
    """A person or team, with its hours a month for the kernel."""

    name: str
    hours_a_month: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Maintainers:
    """Future maintainers of the kernel; empty when there are none."""

    people: tuple[Maintainer, ...]

    @property
    def hours_a_month(self) -> float:
        """Total hours a month."""
        return sum(person.hours_a_month for person in self.people)


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """A GPU such as "B200" and the date of its first use; None when already in use."""

    name: str
    planned_on: dt.date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Generations:
    """GPU generations that the kernel must support."""

    generations: tuple[Generation, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TailLatency:
    """A tail-latency target: `percentile` percent of requests take at most `target_ms`.

    Both are None without a target; `measured_ms` is None when not measured.
    """

    percentile: float | None = None
    target_ms: float | None = None
    measured_ms: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuBill:
    """Monthly cost of the workload's GPU time."""

    amount_a_month: Decimal
    currency: str


Value: TypeAlias = Roadmap | Maintainers | Generations | TailLatency | GpuBill

TYPES: dict[str, type[Value]] = {
    "roadmap": Roadmap,
    "maintainers": Maintainers,
    "gpu_generations": Generations,
    "tail_latency": TailLatency,
    "gpu_bill": GpuBill,
}


def parse(question: str, value: Any) -> Value:
    """Parse the answer to a question from JSON data. ApplicationError when it is invalid."""
    try:
        found: Value = msgspec.convert(value, TYPES[question], strict=False)
    except KeyError as error:
        raise ApplicationError(
            f"Unknown question {question!r}.", code="answer.unknown_question"
        ) from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise ApplicationError(f"Invalid answer: {error}.", code="answer.invalid") from error
    _check(found)
    return found


def as_data(value: Value) -> dict[str, Any]:
    """Convert an answer to JSON data."""
    return dict(msgspec.to_builtins(value))


def _check(value: Value) -> None:
    match value:
        case Roadmap():
            _check_names(*(model.name for model in value.models))
        case Maintainers():
            _check_names(*(person.name for person in value.people))
            if not all(0 <= person.hours_a_month <= 744 for person in value.people):
                raise ApplicationError(
                    "Enter 0 to 744 hours a month.", code="answer.hours_out_of_range"
                )
        case Generations():
            _check_names(*(generation.name for generation in value.generations))
            for generation in value.generations:
                if _YEAR.search(generation.name):
                    raise ApplicationError(
                        f"Enter the date of “{generation.name}” beside the GPU, not in its name.",
                        code="answer.date_in_name",
                    )
        case TailLatency():
            _check_tail(value)
        case GpuBill():
            if not value.amount_a_month.is_finite() or not 0 <= value.amount_a_month < 10**11:
                raise ApplicationError(
                    "Enter a bill of 0 or more, below 100,000,000,000.",
                    code="answer.amount_out_of_range",
                )
            if len(value.currency) != 3 or not value.currency.isupper():
                raise ApplicationError(
                    "Enter an ISO currency code, such as EUR.", code="answer.currency"
                )


def _check_names(*names: str) -> None:
    if len(names) > MOST_ENTRIES:
        raise ApplicationError(
            f"Enter at most {MOST_ENTRIES} lines.", code="answer.too_many_entries"
        )
    if not all(strip_invisible(name) and len(name) <= LONGEST_TEXT for name in names):
        raise ApplicationError(
            f"Enter a name of 1 to {LONGEST_TEXT} characters on every line.",
            code="answer.name_length",
        )


def _check_tail(value: TailLatency) -> None:
    if (value.percentile is None) != (value.target_ms is None):
        raise ApplicationError(
            "Enter the percentile together with its target in ms.", code="answer.tail_incomplete"
        )
    if value.percentile is not None and not 50 <= value.percentile < 100:
        raise ApplicationError(
            "Enter a percentile from 50 to below 100.", code="answer.percentile_out_of_range"
        )
    if not all(0 < time < 1e9 for time in (value.target_ms, value.measured_ms) if time is not None):
        raise ApplicationError(
            "Enter times in ms, greater than 0.", code="answer.time_out_of_range"
        )
