"""People of the consultancy: invite, give a role or an address, close, remove a second factor.

Admins do this, never for themselves. The finance role is proposed here and given by two people of
finance. Every step is in the log of finance, because roles decide who moves money.
"""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import transaction

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.event_log import events
from engagements.finance import grants
from engagements.notifications import password_mails
from engagements.people import sign_ins
from engagements.people.models import Role, User

PARTY = "the consultancy"


@transaction.atomic
def invite(*, email: str, name: str, role: str, by: User) -> User:
    """Create an account with a role, and mail a link to choose a password. Idempotent."""
    _require_admin(by)
    email = email.strip().lower()
    user = User.objects.filter(email__iexact=email).first()
    if user is not None and not user.is_staff_member:
        raise ApplicationError(
            "This address belongs to a customer's account. Enter another address.",
            code="staff.address_taken",
        )
    if user is None:
        user = User.objects.create_user(
            email,
            None,
            name=validation.text(name, noun="The name"),
            role=_direct(role),
            is_staff=role == Role.ADMIN,
        )
        _record("invited", f"{user} was invited as {_label(role)}.", user, by, role=["", role])
        if role == Role.FINANCE:
            grants.propose(user=user, by=by)
    if not user.has_usable_password():
        password_mails.request(
            address=user.email, origin=settings.SITE_ADDRESS, inviter=str(by), party=PARTY
        )
    return user


@transaction.atomic
def give_role(*, user: User, role: str, by: User) -> User:
    """Give a person of the consultancy another role; finance is only proposed. Idempotent."""
    row = _locked(user, by)
    if role == row.role or role not in Role.values or role == Role.NONE:
        return row
    if role == Role.FINANCE:
        grants.propose(user=row, by=by)
        return row
    before, row.role = row.role, Role(role)
    row.is_staff = row.is_superuser = row.is_superuser and role == Role.ADMIN
    row.is_staff = role == Role.ADMIN
    row.save(update_fields=["role", "is_staff", "is_superuser"])
    _record("role_given", f"{row} is now {_label(role)}.", row, by, role=[before, role])
    return row


@transaction.atomic
def set_active(*, user: User, is_active: bool, by: User) -> User:
    """Close or reopen an account, of the consultancy or of a customer. Idempotent."""
    row = _locked(user, by)
    if row.is_active == is_active:
        return row
    row.is_active = is_active
    row.save(update_fields=["is_active"])
    verb, did = ("reopened", "reopened") if is_active else ("closed", "closed")
    _record(verb, f"The account of {row} was {did}.", row, by, is_active=[not is_active, is_active])
    return row


@transaction.atomic
def change_address(*, user: User, email: str, by: User) -> User:
    """Change the address with which a person of the consultancy signs in. Idempotent.

    Their sessions end, and the finance role is suspended: otherwise one admin could take over the
    account by resetting its password.
    """
    row = _locked(user, by)
    if not row.is_staff_member:
        raise ApplicationError(
            "Customers change the addresses of their own people.", code="staff.not_of_the_house"
        )
    before, after = row.email, email.strip().lower()
    if after == before:
        return row
    if User.objects.filter(email__iexact=after).exclude(pk=row.pk).exists():
        raise ApplicationError(
            "This address belongs to another account. Enter another address.",
            code="staff.address_taken",
        )
    row.email = after
    validation.save_validated(row)
    EmailAddress.objects.filter(user=row).exclude(email__iexact=after).delete()
    grants.suspend(row)
    sign_ins.end_all(user=row)
    _record("address_changed", f"{row} signs in as {after}.", row, by, email=[before, after])
    return row


@transaction.atomic
def remove_second_factor(*, user: User, by: User) -> bool:
    """Remove the second factors of a person who lost a phone, and end their sessions.

    The finance role is suspended: otherwise one admin could take over the account. True if there
    was a factor.
    """
    row = _locked(user, by)
    deleted, _ = Authenticator.objects.filter(user=row).delete()
    if not deleted:
        return False
    grants.suspend(row)
    sign_ins.end_all(user=row)
    _record("second_factor_removed", f"The second factor of {row} was removed.", row, by)
    return True


def _direct(role: str) -> Role:
    """The role that a new account starts with: people of finance begin without one's rights."""
    if role not in (Role.CONSULTANT, Role.FINANCE, Role.ADMIN):
        raise ApplicationError("Choose a role.", code="staff.role")
    return Role.CONSULTANT if role == Role.FINANCE else Role(role)


def _require_admin(by: User) -> None:
    if not access.is_admin(by):
        raise ApplicationError("Only admins may do this.", code="access.admins_only")


def _locked(user: User, by: User) -> User:
    _require_admin(by)
    if user.pk == by.pk:
        raise ApplicationError("Another admin does this for you.", code="staff.own_account")
    return User.objects.select_for_update().get(pk=user.pk)


def _label(role: str) -> str:
    return str(Role(role).label).lower()


def _record(step: str, summary: str, user: User, by: User, **changes: object) -> None:
    events.record_finance(
        verb=f"staff.{step}", summary=summary, actor=by, changes={"user": user.pk, **changes}
    )
