"""The basis of the report: files with digests, answers with authors, changed thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from engagements.audit.models import Audit
from engagements.audit.rules import Thresholds
from engagements.audit.rules import thresholds as lines
from engagements.evidence import questionnaire
from engagements.evidence.answer_text import answer_lines
from engagements.evidence.models import Answer, Evidence


@dataclass(frozen=True)
class FileRow:
    """A stored file. `is_used` when a finding is based on it."""

    name: str
    format: str
    digest: str
    size_bytes: int
    added_by: str
    added_at: Any
    is_used: bool
    failure_reason: str


@dataclass(frozen=True)
class AnswerRow:
    """An answer of the questionnaire with its author."""

    question: str
    lines: tuple[str, ...]
    note: str
    answered_by: str
    answered_on: date


@dataclass(frozen=True)
class ThresholdRow:
    """A threshold that differs from its default."""

    name: str
    default: str
    value: str


def files_of(audit: Audit, used: set[str]) -> list[FileRow]:
    """Return the files of the engagement, oldest first; `used` are digests in findings."""
    workload = Evidence.objects.filter(engagement=audit.engagement_id, candidate__isnull=True)
    rows = workload.order_by("added_at", "pk")
    if audit.delivered_at:
        rows = rows.filter(added_at__lte=audit.delivered_at)
    return [
        FileRow(
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


def answers_of(audit: Audit) -> list[AnswerRow]:
    """Return the newest answer to every question."""
    newest = questionnaire.newest(audit.engagement, until=audit.delivered_at)
    return [
        AnswerRow(
            question=str(row.get_question_display()),
            lines=tuple(answer_lines(row.value)),
            note=row.note,
            answered_by=row.answered_by,
            answered_on=row.answered_on,
        )
        for question in Answer.Question.values
        if (row := newest.get(question))
    ]


def changed_thresholds(thresholds: Thresholds) -> list[ThresholdRow]:
    """Return the changed thresholds with their defaults."""
    moved = lines.as_data(thresholds)
    return [
        ThresholdRow(
            name.replace("_", " "),
            lines.shown(name, getattr(lines.DEFAULT, name)),
            lines.shown(name, value),
        )
        for name, value in moved.items()
    ]
