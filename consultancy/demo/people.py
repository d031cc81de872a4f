"""The people of the demonstration and what each can try."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.people.models import Membership, Role, User

TO_TRY = {
    Role.CONSULTANT: "Read the board, open an engagement, audit it, request a run and watch it.",
    Role.FINANCE: "Bill milestones, chase the overdue invoice, approve the settlement.",
    Role.ADMIN: "See everything, and manage people.",
}
SIGNATORY = "Follow the work, read documents, sign the contract on offer."
VIEWER = "Read the same without signing."


@dataclass(frozen=True)
class Person:
    """A user with a role in words and what to try."""

    user: User
    role: str
    to_try: str


def people() -> list[Person]:
    """Staff first, then each customer's signatory and viewer."""
    staff = User.objects.filter(is_active=True, is_service=False).exclude(role=Role.NONE)
    members = (
        Membership.objects.filter(user__is_service=False)
        .select_related("user", "customer")
        .order_by("customer", "pk")
    )
    return [
        *(
            Person(user, user.get_role_display(), TO_TRY[Role(user.role)])
            for user in staff.order_by("pk")
        ),
        *(
            Person(
                member.user,
                f"{member.get_rights_display()}, {member.customer.name}",
                SIGNATORY if member.rights == Membership.Rights.SIGNATORY else VIEWER,
            )
            for member in members.select_related("user", "customer").order_by("customer", "pk")
        ),
    ]
