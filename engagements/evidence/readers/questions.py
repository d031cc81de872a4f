"""What no file tells, as data: the questions of the questionnaire and what answers them.

An answer is stored as plain JSON and read back as one of these. Dates are ISO 8601, money is a
decimal number with its currency beside it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from engagements.common.text import strip_invisible

MOST_ENTRIES = 50
LONGEST_TEXT = 200


class AnswerError(ValueError):
    """An answer is none to its question. The text is one sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NextModel:
    """A model that is to replace the present one. `axes` are those of the operator that change."""

    name: str
    expected_on: dt.date
    axes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Roadmap:
    """The models to come, none when no change is planned."""

    models: tuple[NextModel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Maintainer:
    """A person or a team, and the hours a month that they have for the kernel."""

    name: str
    hours_a_month: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Maintainers:
    """Who will maintain the kernel, none when nobody will."""

    people: tuple[Maintainer, ...]

    @property
    def hours_a_month(self) -> float:
        """The hours of all of them."""
        return sum(person.hours_a_month for person in self.people)


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """A GPU that is to be used, as in "B200", and from when; None when it is in use already."""

    name: str
    planned_on: dt.date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Generations:
    """The GPU generations that the kernel has to run on."""

    generations: tuple[Generation, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TailLatency:
    """A target for slow requests: `percentile` of them take at most `target_ms`.

    Both are None when there is no such target; `measured_ms` is None when nobody measured it.
    """

    percentile: float | None = None
    target_ms: float | None = None
    measured_ms: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuBill:
    """What the GPU time of the workload costs a month."""

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
    """The answer to a question from JSON data. AnswerError when it is none."""
    try:
        found: Value = msgspec.convert(value, TYPES[question], strict=False)
    except KeyError as error:
        raise AnswerError(f"{question!r} is none of the questions.") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise AnswerError(f"The answer cannot be read: {error}.") from error
    _check(found)
    return found


def as_data(value: Value) -> dict[str, Any]:
    """An answer as plain JSON data."""
    return dict(msgspec.to_builtins(value))


def _check(value: Value) -> None:
    match value:
        case Roadmap():
            _check_names(*(model.name for model in value.models))
        case Maintainers():
            _check_names(*(person.name for person in value.people))
            if not all(0 <= person.hours_a_month <= 744 for person in value.people):
                raise AnswerError("The hours of a month are between 0 and 744.")
        case Generations():
            _check_names(*(generation.name for generation in value.generations))
        case TailLatency():
            _check_tail(value)
        case GpuBill():
            if not value.amount_a_month.is_finite() or not 0 <= value.amount_a_month < 10**11:
                raise AnswerError("The bill is an amount of money that is not negative.")
            if len(value.currency) != 3 or not value.currency.isupper():
                raise AnswerError("A currency is three capital letters, as in EUR.")


def _check_names(*names: str) -> None:
    if len(names) > MOST_ENTRIES:
        raise AnswerError(f"At most {MOST_ENTRIES} entries are kept.")
    if not all(strip_invisible(name) and len(name) <= LONGEST_TEXT for name in names):
        raise AnswerError(f"Every entry has a name of at most {LONGEST_TEXT} characters.")


def _check_tail(value: TailLatency) -> None:
    if (value.percentile is None) != (value.target_ms is None):
        raise AnswerError("A tail-latency target has a percentile and a time in ms.")
    if value.percentile is not None and not 50 <= value.percentile < 100:
        raise AnswerError("The percentile of a tail is at least 50 and below 100.")
    if not all(0 < time < 1e9 for time in (value.target_ms, value.measured_ms) if time is not None):
        raise AnswerError("Times are positive numbers of ms.")
