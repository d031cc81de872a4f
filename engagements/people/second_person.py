"""Require a second person for every step that moves money.

A sole owner may approve alone, one subject at a time and with a second factor, where the
operator allowed it (`SoleOwner`). Triggers refuse what these functions decline.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from engagements.common.errors import ApplicationError
from engagements.people.approval_models import SoleApproval, SoleOwner
from engagements.people.models import User


def is_missing(*, by: User, others: Iterable[int | None], subject: str) -> bool:
    """Whether `by` is one of `others` (ids of users) and has not approved `subject` alone."""
    return by.pk in set(others) and not approvals(subject).filter(by=by).exists()


def require(
    *, by: User, others: Iterable[int | None], subject: str, code: str, message: str
) -> None:
    """Raise ApplicationError with `code` and `message` where a second person is missing."""
    if is_missing(by=by, others=others, subject=subject):
        raise ApplicationError(message, code=code)


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
