"""What an audit is about: the operator, its needs, the work, the lines that the checks draw.

Every change is recorded, and the findings are computed again with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from django.db import transaction

from engagements.audit import subject as subjects
from engagements.audit import thresholds as lines
from engagements.audit.advice import Verdict
from engagements.audit.case import Needs, Operator, Tried, Work
from engagements.audit.figures import Interval
from engagements.audit.subject import Subject
from engagements.errors import Refused
from engagements.models import Audit, Evidence, Stage, User
from engagements.services import checked, checks, events, lifecycle
from engagements.services.cases import subject_of


@transaction.atomic
def choose_operator(
    *, audit: Audit, operator: Operator | None, by: User, trace: str | None = None
) -> Verdict:
    """The kernels under audit; None leaves it to the trace. `trace` is the digest of a profile."""
    if operator is not None and operator.kind == "pattern":
        try:
            re.compile(operator.pattern or "")
        except re.error as error:
            raise Refused(f"“{operator.pattern}” is no regular expression: {error}.") from error
        if not operator.pattern:
            raise Refused("A pattern finds kernels by a regular expression: it is missing.")
    said = f"The operator under audit: {operator.name}." if operator else "No operator is chosen."
    return _set(_open(audit, by), by, said, operator=operator, trace=trace)


@transaction.atomic
def choose_traffic(*, audit: Audit, traffic: str | None, by: User) -> Verdict:
    """The log of shapes to go by, by its digest; whichever is the newest where it is None."""
    row = _open(audit, by)
    logs = Evidence.objects.filter(engagement=row.engagement, format=Evidence.Format.TRAFFIC)
    if traffic is not None and not logs.filter(digest=traffic).exists():
        raise Refused("This engagement's evidence has no such log of shapes.")
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
            raise Refused("The work takes more than nothing and at most ten years.")
        if (work.fee is None) != (work.currency is None):
            raise Refused("A fee comes with its currency.")
        if work.fee is not None and work.currency is not None:
            fee = checked.amount(work.fee, work.currency, noun="The fee")
            work = replace(work, fee=fee)
    return _set(_open(audit, by), by, "The work was estimated.", work=work)


@transaction.atomic
def record_tried(*, audit: Audit, tried: Tried, by: User) -> Verdict:
    """A library that was held against the needs; the newest word on it counts."""
    library = checked.text(tried.library, noun="The library's name")
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
        raise Refused("A share of the time is more than nothing and at most all of it.")
    for ratio in (kernel_speedup, end_to_end):
        if ratio is not None and not 0 < ratio.low <= ratio.high <= 10_000:
            raise Refused("A speedup lies between two positive ratios, the lower first.")
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
        raise Refused(f"These thresholds cannot be: {error}") from error
    if row.thresholds != data:
        before, row.thresholds = row.thresholds, data
        checked.save(row)
        events.record(
            engagement=row.engagement,
            verb="audit.thresholds_set",
            summary="The thresholds of the checks were set for this engagement.",
            actor=by,
            changes={"thresholds": [before, data]},
        )
    return checks.write(audit=row, by=by)


def _set(row: Audit, by: User, summary: str, **changes: Any) -> Verdict:
    """Change the subject of an opened audit; the same again changes nothing."""
    before = row.subject
    subject: Subject = replace(subject_of(row), **changes)
    row.subject = subjects.as_data(subject)
    if row.subject != before:
        checked.save(row)
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
    return checks.write(audit=row, by=by)


def _open(audit: Audit, by: User) -> Audit:
    """The audit read again under its engagement's lock; refused where it may not change."""
    engagement = lifecycle.locked(audit.engagement_id)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(engagement, Stage.AUDITING, to="for its audit to change")
    row = Audit.objects.get(pk=audit.pk)
    row.engagement = engagement
    return row
