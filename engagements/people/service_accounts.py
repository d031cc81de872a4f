"""Service accounts: the users of programs. They have tokens, and no password.

Admins manage those of the consultancy, which act as consultants. A customer's signatories manage
those of the customer, which see what a viewer sees.
"""

from __future__ import annotations

import secrets

from django.db import transaction
from django.db.models import Q, QuerySet

from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import Customer, Membership, Role, User

# Mail to this domain is never delivered (RFC 2606).
DOMAIN = "service.invalid"


def managed_by(user: User) -> QuerySet[User]:
    """The service accounts that `user` manages, by name."""
    accounts = User.objects.filter(is_service=True, is_active=True).order_by("name", "pk")
    if not user.is_active or user.is_service:
        return accounts.none()
    if user.role == Role.ADMIN:
        return accounts.filter(role=Role.CONSULTANT)
    if user.is_staff_member:
        return accounts.none()
    return accounts.filter(Q(role=Role.NONE) & Q(memberships__customer__in=signs_for(user)))


def signs_for(user: User) -> QuerySet[Customer]:
    """The customers whose service accounts `user` manages."""
    rights = Membership.Rights.SIGNATORY
    if user.is_staff_member or user.is_service or not user.is_active:
        return Customer.objects.none()
    return Customer.objects.filter(memberships__user=user, memberships__rights=rights)


def may_create(user: User) -> bool:
    """Whether `user` manages service accounts."""
    return user.role == Role.ADMIN or signs_for(user).exists()


@transaction.atomic
def create(*, name: str, by: User, customer: Customer | None = None) -> User:
    """Create a service account of `customer`, or of the consultancy without one.

    Raises ApplicationError where `by` may not.
    """
    if customer is None:
        permitted = by.is_active and by.role == Role.ADMIN
    else:
        permitted = signs_for(by).filter(pk=customer.pk).exists()
    if not permitted:
        raise ApplicationError(
            "Only an admin, or a signatory of the customer, creates service accounts.",
            code="service_account.not_permitted",
        )
    account = User(
        email=f"{secrets.token_hex(8)}@{DOMAIN}",
        name=validation.text(name, noun="The name"),
        role=Role.CONSULTANT if customer is None else Role.NONE,
        is_service=True,
    )
    account.set_unusable_password()
    validation.save_validated(account)
    if customer is not None:
        Membership.objects.create(customer=customer, user=account)
    return account


@transaction.atomic
def close(*, account: User, by: User) -> None:
    """Close a service account, which ends its tokens. Idempotent for its managers."""
    row = managed_by(by).filter(pk=account.pk).first()
    if row is None:
        raise ApplicationError(
            "Only a manager of this service account may close it.",
            code="service_account.not_permitted",
        )
    row.is_active = False
    row.save(update_fields=["is_active"])
