"""What the report rests on: files with their digests, answers with their authors, lines drawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from engagements.audit.models import Audit
from engagements.audit.rules import Thresholds
from engagements.audit.rules import thresholds as lines
from engagements.evidence import questionnaire
from engagements.evidence.answer_text import in_words
from engagements.evidence.models import Answer, Evidence


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
    newest = questionnaire.newest(audit.engagement, until=audit.delivered_at)
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
