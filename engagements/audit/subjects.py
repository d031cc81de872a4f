"""What an audit is about: the operator, its needs, the work, the lines that the checks draw.

Every change is recorded, and the findings are computed again with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from django.db import transaction

from engagements import access
from engagements.audit import findings
from engagements.audit.inputs import subject_of
from engagements.audit.models import Audit
from engagements.audit.rules import subject as subjects
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.case import Needs, Operator, Tried, Work
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.subject import Subject
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.event_log import events
from engagements.evidence.models import Evidence
from engagements.people.models import User


@transaction.atomic
def choose_operator(
    *, audit: Audit, operator: Operator | None, by: User, trace: str | None = None
) -> Verdict:
    """The kernels under audit; None leaves it to the trace. `trace` is the digest of a profile."""
    if operator is not None and operator.kind == "pattern":
        try:
            re.compile(operator.pattern or "")
        except re.error as error:
            raise ApplicationError(
                f"“{operator.pattern}” is no regular expression: {error}.", code="audit.todo"
            ) from error
        if not operator.pattern:
            raise ApplicationError(
                "A pattern finds kernels by a regular expression: it is missing.", code="audit.todo"
            )
    said = f"The operator under audit: {operator.name}." if operator else "No operator is chosen."
    return _set(_open(audit, by), by, said, operator=operator, trace=trace)


@transaction.atomic
def choose_traffic(*, audit: Audit, traffic: str | None, by: User) -> Verdict:
    """The log of shapes to go by, by its digest; whichever is the newest where it is None."""
    row = _open(audit, by)
    logs = Evidence.objects.filter(engagement=row.engagement, format=Evidence.Format.TRAFFIC)
    if traffic is not None and not logs.filter(digest=traffic).exists():
        raise ApplicationError(
            "This engagement's evidence has no such log of shapes.", code="audit.todo"
        )
    return _set(row, by, "The log of shapes to go by was chosen.", traffic=traffic)


@transaction.atomic
def set_needs(*, audit: Audit, needs: Needs | None, by: User) -> Verdict:
    """What the operator must do."""
    return _set(_open(audit, by), by, "The operator's needs were set.", needs=needs)


@transaction.atomic
def set_work(*, audit: Audit, work: Work | None, by: User) -> Verdict:
    """Weeks and fee that the kernel would take."""
    if work is not None:
        if not 0 < work.weeks <= 520:
            raise ApplicationError(
                "The work takes more than nothing and at most ten years.", code="audit.todo"
            )
        if (work.fee is None) != (work.currency is None):
            raise ApplicationError("A fee comes with its currency.", code="audit.todo")
        if work.fee is not None and work.currency is not None:
            fee = validation.amount(work.fee, work.currency, noun="The fee")
            work = replace(work, fee=fee)
    return _set(_open(audit, by), by, "The work was estimated.", work=work)


@transaction.atomic
def record_tried(*, audit: Audit, tried: Tried, by: User) -> Verdict:
    """A library that was held against the needs; the newest word on it counts."""
    library = validation.text(tried.library, noun="The library's name")
    row = _open(audit, by)
    before = subject_of(row).tried
    others = tuple(each for each in before if each.library != library)
    kept = (*others, replace(tried, library=library))
    return _set(row, by, f"{library} was held against the needs.", tried=kept)


@transaction.atomic
def forget_tried(*, audit: Audit, library: str, by: User) -> Verdict:
    """Take back what was said of a library."""
    row = _open(audit, by)
    before = subject_of(row).tried
    kept = tuple(each for each in before if each.library != library)
    return _set(row, by, f"{library} is no longer counted as tried.", tried=kept)


@transaction.atomic
def set_estimates(
    *,
    audit: Audit,
    by: User,
    share: float | None = None,
    kernel_speedup: Interval | None = None,
    end_to_end: Interval | None = None,
) -> Verdict:
    """Numbers that no evidence gives: shown as stated, and led by whatever is measured."""
    if share is not None and not 0 < share <= 1:
        raise ApplicationError(
            "A share of the time is more than nothing and at most all of it.", code="audit.todo"
        )
    for ratio in (kernel_speedup, end_to_end):
        if ratio is not None and not 0 < ratio.low <= ratio.high <= 10_000:
            raise ApplicationError(
                "A speedup lies between two positive ratios, the lower first.", code="audit.todo"
            )
    return _set(
        _open(audit, by),
        by,
        "Estimates were set.",
        share=share,
        kernel_speedup=kernel_speedup,
        end_to_end=end_to_end,
    )


@transaction.atomic
def set_thresholds(*, audit: Audit, changes: dict[str, Any], by: User) -> Verdict:
    """The lines that the checks draw in this engagement; those left out are the usual ones."""
    row = _open(audit, by)
    try:
        data = lines.as_data(lines.from_data(changes))
    except ValueError as error:
        raise ApplicationError(f"These thresholds cannot be: {error}", code="audit.todo") from error
    if row.thresholds != data:
        before, row.thresholds = row.thresholds, data
        validation.save_validated(row)
        events.record(
            engagement=row.engagement,
            verb="audit.thresholds_set",
            summary="The thresholds of the checks were set for this engagement.",
            actor=by,
            changes={"thresholds": [before, data]},
        )
    return findings.write(audit=row, by=by)


def _set(row: Audit, by: User, summary: str, **changes: Any) -> Verdict:
    """Change the subject of an opened audit; the same again changes nothing."""
    before = row.subject
    subject: Subject = replace(subject_of(row), **changes)
    row.subject = subjects.as_data(subject)
    if row.subject != before:
        validation.save_validated(row)
        differing = sorted(set(before) | set(row.subject))
        events.record(
            engagement=row.engagement,
            verb="audit.subject_set",
            summary=summary,
            actor=by,
            changes={
                key: [before.get(key), row.subject.get(key)]
                for key in differing
                if before.get(key) != row.subject.get(key)
            },
        )
    return findings.write(audit=row, by=by)


def _open(audit: Audit, by: User) -> Audit:
    """The audit read again under its engagement's lock; refused where it may not change."""
    engagement = stages.locked(audit.engagement_id)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITING, to="for its audit to change")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return row
