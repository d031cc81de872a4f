"""Signatories of a customer."""

from __future__ import annotations

from engagements.people.models import Customer, Membership, Role, User


def signatories_of(customer: Customer) -> list[User]:
    """List the active users who may sign for `customer`, by email address."""
    memberships = Membership.objects.filter(
        customer=customer,
        rights=Membership.Rights.SIGNATORY,
        user__is_active=True,
        user__role=Role.NONE,
    ).select_related("user")
    return sorted((membership.user for membership in memberships), key=lambda user: user.email)
