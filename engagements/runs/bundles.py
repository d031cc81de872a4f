"""Downloads of a run, with or without the kernel's source."""

from __future__ import annotations

from benchmarks import bundles, storage
from benchmarks.models import Verdict
from benchmarks.records.redaction import withhold_source
from engagements.access import is_staff_member, may_sign
from engagements.people.models import User
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of, verdict_of

WITHHELD = (
    "The kernel's source is released once the target is met, and to a signatory for the repeat of "
    "a disputed run."
)


def customer_may_have_source(run: EngagementRun) -> bool:
    """Whether the customer may download the source: after an acceptance run met the target."""
    asked = run.request
    is_acceptance = asked.purpose == EngagementRun.Purpose.ACCEPTANCE
    return is_acceptance and verdict_of(asked) == Verdict.MET


def may_have_source(*, run: EngagementRun, by: User) -> bool:
    """Whether `by` may download the source: staff always, the customer once the target is met.

    The customer's signatories also for the repeat of a disputed run, once it was released.
    """
    if is_staff_member(by) or customer_may_have_source(run):
        return True
    released = run.request.disputes.filter(source_released_at__isnull=False, ended_at__isnull=True)
    return released.exists() and may_sign(by, run.engagement.customer)


def bundle(*, run: EngagementRun, by: User) -> bytes:
    """Return the archive that repeats the run, with the source only where `by` may have it.

    Raises an error without a record.
    """
    return bundles.archive(
        run=run.run, with_source=may_have_source(run=run, by=by), why_without=WITHHELD
    )


def record_bytes(*, run: EngagementRun, with_source: bool) -> bytes:
    """Return the run's record as stored, or without the source."""
    record = record_of(run)
    assert record is not None  # the caller shows a measured run
    content = storage.load(record)
    return content if with_source else withhold_source(content)
