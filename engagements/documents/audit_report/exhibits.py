"""What the report rests on: files with their digests, answers with their authors, lines drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from engagements import money
from engagements.audit import Thresholds
from engagements.audit import thresholds as lines
from engagements.documents import wording
from engagements.models import Answer, Audit, Evidence
from engagements.services import answers


@dataclass(frozen=True)
class Exhibit:
    """A file as it was kept. `is_used` when a finding rests on it."""

    name: str
    format: str
    digest: str
    size_bytes: int
    added_by: str
    added_at: Any
    is_used: bool
    failure_reason: str


@dataclass(frozen=True)
class Answered:
    """An answer to what no file tells, with whose word it is."""

    question: str
    words: tuple[str, ...]
    note: str
    answered_by: str
    answered_on: date


@dataclass(frozen=True)
class Line:
    """A threshold that this audit draws elsewhere than the sources do."""

    name: str
    usual: str
    here: str


def files_of(audit: Audit, used: set[str]) -> list[Exhibit]:
    """Every file of the engagement, oldest first; `used` are digests that findings name."""
    rows = Evidence.objects.filter(engagement=audit.engagement_id).order_by("added_at", "pk")
    if audit.delivered_at:
        rows = rows.filter(added_at__lte=audit.delivered_at)
    return [
        Exhibit(
            name=row.name,
            format=str(row.get_format_display() or row.get_state_display()),
            digest=row.digest,
            size_bytes=row.size_bytes,
            added_by=row.added_by_name,
            added_at=row.added_at,
            is_used=row.digest in used,
            failure_reason=row.failure_reason,
        )
        for row in rows
    ]


def answers_of(audit: Audit) -> list[Answered]:
    """The newest answer to every question that has one."""
    newest = answers.newest(audit.engagement, until=audit.delivered_at)
    return [
        Answered(
            question=str(row.get_question_display()),
            words=tuple(in_words(row.value)),
            note=row.note,
            answered_by=row.answered_by,
            answered_on=row.answered_on,
        )
        for question in Answer.Question.values
        if (row := newest.get(question))
    ]


def lines_of(thresholds: Thresholds) -> list[Line]:
    """The thresholds that were moved, each beside its usual place."""
    moved = lines.as_data(thresholds)
    return [
        Line(name.replace("_", " "), f"{getattr(lines.DEFAULT, name):g}", f"{value:g}")
        for name, value in moved.items()
    ]


def in_words(value: dict[str, Any]) -> Iterator[str]:
    """An answer in words: a line an entry, or a line a figure that was given."""
    if amount := value.get("amount_a_month"):
        shown = money.format_money(Decimal(str(amount)), str(value["currency"]))
        yield f"Amount a month: {shown}"
        value = {k: given for k, given in value.items() if k not in ("amount_a_month", "currency")}
    for name, given in value.items():
        if isinstance(given, list):
            yield from (_entry_in_words(entry) for entry in given)
            if not given:
                yield "None"
        elif given is not None:
            yield f"{name.replace('_', ' ').capitalize()}: {given}"


def _entry_in_words(entry: dict[str, Any]) -> str:
    words = [str(entry["name"])]
    if hours := entry.get("hours_a_month"):
        words.append(f"{hours:g} hours a month")
    days = [str(entry[name]) for name in ("expected_on", "planned_on") if entry.get(name)]
    words += [wording.day(date.fromisoformat(each)) for each in days]
    words += [f"{axis} {size}" for axis, size in sorted((entry.get("axes") or {}).items())]
    return ", ".join(words)
