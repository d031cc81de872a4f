"""Grant the finance role: an admin proposes, two people of finance confirm."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements import access
from engagements.common import links, validation
from engagements.common.errors import ApplicationError
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.approval_models import FinanceGrant
from engagements.people.models import Role, User
from engagements.settlements import finance_mails


def open_grants() -> QuerySet[FinanceGrant]:
    """Proposed grants that wait for a confirmation, the oldest first."""
    waiting = FinanceGrant.objects.filter(granted_by__isnull=True, user__is_active=True)
    return waiting.select_related("user", "proposed_by", "confirmed_by").order_by("pk")


@transaction.atomic
def propose(*, user: User, by: User) -> FinanceGrant:
    """Propose the finance role for `user`. Idempotent while it waits."""
    if not access.is_admin(by):
        raise ApplicationError("Only admins give roles.", code="finance_grant.not_permitted")
    if user.pk == by.pk:
        raise ApplicationError(
            "Another admin gives you the finance role.", code="finance_grant.own_role"
        )
    User.objects.select_for_update().get(pk=user.pk)
    waiting = open_grants().filter(user=user).first()
    if waiting:
        return waiting
    grant = FinanceGrant(user=user, proposed_by=by)
    validation.save_validated(grant)
    _record(grant, "proposed", by)
    finance_mails.write_all(
        key=f"finance:{grant.subject}",
        subject=f"Finance role to confirm: {user}",
        body=f"{by} proposed {user}, {user.email}, for finance. Two people of finance confirm "
        f"it.\n\n{links.to_page('finance-people')}\n",
        but=None,
    )
    return grant


@transaction.atomic
def confirm(*, grant: FinanceGrant, by: User) -> FinanceGrant:
    """Confirm a grant, as one of two people of finance: the second gives the role. Idempotent."""
    row = FinanceGrant.objects.select_for_update().get(pk=grant.pk)
    if not access.is_finance(by):
        raise ApplicationError(
            "Only people of finance confirm this role.", code="finance_grant.not_permitted"
        )
    if by.pk in (row.proposed_by_id, row.user_id):
        raise ApplicationError(
            "Two other people of finance confirm this role.", code="finance_grant.same_person"
        )
    if row.granted_by_id is not None or needs_another(row, by=by):
        return row
    if not access.is_admin(row.proposed_by):
        raise ApplicationError(
            "The proposer is no longer an admin: propose it again.",
            code="finance_grant.proposer_left",
        )
    if row.confirmed_by is None:
        row.confirmed_by, row.confirmed_at, step = by, timezone.now(), "confirmed"
    elif not access.is_finance(row.confirmed_by):
        raise ApplicationError(
            f"{row.confirmed_by} confirmed this role and no longer belongs to finance: "
            "another grant is needed.",
            code="finance_grant.confirmer_left",
        )
    else:
        row.granted_by, row.granted_at, step = by, timezone.now(), "granted"
    validation.save_validated(row)
    _record(row, step, by)
    return row


def _record(grant: FinanceGrant, step: str, by: User) -> None:
    events.record_finance(
        verb=f"{grant.KIND}.{step}",
        summary=f"The finance role for {grant.user}: {step}.",
        actor=by,
        changes={"finance_grant": grant.pk, "user": grant.user_id},
    )


def needs_another(grant: FinanceGrant, *, by: User) -> bool:
    """Whether `by` confirmed the grant and another person of finance confirms it next."""
    return second_person.is_missing(by=by, others=[grant.confirmed_by_id], subject=grant.subject)


def suspend(user: User) -> bool:
    """Take the finance role from a user whose sign-in an admin changed. True where it did.

    Otherwise one admin could take over the accounts of two people of finance.
    """
    return bool(User.objects.filter(pk=user.pk, role=Role.FINANCE).update(role=Role.NONE))
