"""Require a second person for every step that moves money.

A sole owner may approve alone, one subject at a time and with a second factor, where the
operator allowed it (`SoleOwner`). Triggers refuse what these functions decline.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.approval_models import SoleApproval, SoleOwner
from engagements.people.models import User
from engagements.people.proposals import Decision, Proposal


def is_missing(*, by: User, others: Iterable[int | None], subject: str) -> bool:
    """Whether `by` is one of `others` (ids of users) and has not approved `subject` alone."""
    return by.pk in set(others) and not approvals(subject).filter(by=by).exists()


def require(
    *, by: User, others: Iterable[int | None], subject: str, code: str, message: str
) -> None:
    """Raise ApplicationError with `code` and `message` where a second person is missing."""
    if is_missing(by=by, others=others, subject=subject):
        raise ApplicationError(message, code=code)


def is_own(row: Proposal, *, by: User) -> bool:
    """Whether `by` proposed the row, so that another person completes it."""
    return is_missing(by=by, others=[row.proposed_by_id], subject=row.subject)


def require_another(row: Proposal, *, by: User, step: str = "approves it") -> None:
    """Raise ApplicationError "KIND.same_person" where `by` proposed the row."""
    require(
        by=by,
        others=[row.proposed_by_id],
        subject=row.subject,
        code=f"{row.KIND}.same_person",
        message=f"You proposed this {row.NOUN}: another person of finance {step}.",
    )


def may_decide(row: Decision, *, to: str, by: User) -> bool:
    """Whether the proposed row may be moved to the state `to`; False where it already was.

    Raises ApplicationError where it was decided otherwise, or where its proposer would approve it.
    """
    if row.state == to:
        return False
    is_void = to == "voided"
    purpose = "to be voided" if is_void else "to be approved"
    now, proposed = row.State(row.state), row.State("proposed")
    validation.state(now, proposed, noun=f"The {row.NOUN}", to=purpose)
    if not is_void:
        require_another(row, by=by)
    return True


def decide(row: Decision, *, to: str, by: User | None) -> None:
    """Move a row that `may_decide` allows to the state `to`, and save it.

    `by` is None without an approval, as for a write-off up to the limit.
    """
    row.state, row.decided_at = to, timezone.now()
    row.approved_by = None if to == "voided" else by
    validation.save_validated(row)


def approvals(subject: str) -> QuerySet[SoleApproval]:
    """The approvals of one subject by a sole owner."""
    return SoleApproval.objects.filter(subject=subject).select_related("by")


def is_sole_owner(user: User) -> bool:
    """Whether `user` may approve alone."""
    return SoleOwner.objects.filter(user=user).exists()


def approve_alone(*, subject: str, by: User, second_factor_at: datetime) -> SoleApproval:
    """Record that the sole owner approves `subject` alone. Idempotent."""
    if not is_sole_owner(by):
        raise ApplicationError("A second person must do this.", code="second_person.required")
    row, _ = SoleApproval.objects.get_or_create(
        subject=subject, by=by, defaults={"second_factor_at": second_factor_at}
    )
    return row
