"""Record answers of the questionnaire, each with its author and date. Append-only."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.evidence.models import Answer
from engagements.evidence.readers import questions as values
from engagements.evidence.services import STAGES
from engagements.people.models import User


@transaction.atomic
def record(
    *,
    engagement: Engagement,
    question: str,
    value: dict[str, Any],
    answered_by: str,
    answered_on: dt.date,
    by: User,
    note: str = "",
) -> Answer:
    """Record an answer; it replaces the previous one, which stays on record. Idempotent.

    `answered_by` is the author, usually an employee of the customer.
    """
    row = stages.locked(engagement.pk)
    access.require_contributor(row, by)
    stages.require_stage(row, *STAGES, to="for answers to be recorded")
    fields = {
        "value": _data_of(question, value),
        "answered_by": validation.text(answered_by, noun="Answered by"),
        "answered_on": answered_on,
        "note": note.strip(),
    }
    if answered_on > timezone.localdate():
        raise ApplicationError("Enter a date up to today.", code="evidence.answer_in_the_future")
    before = Answer.objects.filter(engagement=row, question=question).first()
    if before is not None and fields == {name: getattr(before, name) for name in fields}:
        return before
    answer = Answer(engagement=row, question=question, recorded_by=by, **fields)
    validation.save_validated(answer)
    events.record(
        engagement=row,
        verb="answer.recorded",
        summary=f"{answer.get_question_display()} Answered by {answer.answered_by}.",
        actor=by,
        changes={"question": question, "value": [before.value if before else None, answer.value]},
    )
    enqueue("compute_findings", row.pk)
    return answer


def _data_of(question: str, value: dict[str, Any]) -> dict[str, Any]:
    return values.as_data(values.parse(question, value))


def newest(engagement: Engagement, *, until: dt.datetime | None = None) -> dict[str, Answer]:
    """Return the newest answer by question, optionally as of the time `until`."""
    newest: dict[str, Answer] = {}
    rows = Answer.objects.filter(engagement=engagement).select_related("recorded_by")
    if until is not None:
        rows = rows.filter(recorded_at__lte=until)
    for answer in rows:
        newest.setdefault(answer.question, answer)
    return newest


def unanswered() -> Q:
    """A condition on engagements: some question has no answer yet."""
    answers = Answer.objects.filter(engagement=OuterRef("pk"))
    return Q(*(~Exists(answers.filter(question=name)) for name in Answer.Question), _connector=Q.OR)


def value_of(answer: Answer | None) -> values.Value | None:
    """Parse a stored answer; None without an answer."""
    return None if answer is None else values.parse(answer.question, answer.value)
