"""The people of the demonstration and what each can try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Prefetch

from engagements.engagement.models import Engagement, Stage
from engagements.people.models import Customer, Membership, Role, User

TO_TRY = {
    Role.CONSULTANT: "Follow an engagement from the board to its runs, and request one.",
    Role.FINANCE: "Bill a milestone, assign a bank line, approve or pay the settlement.",
    Role.ADMIN: "See every page, and manage staff.",
}


@dataclass(frozen=True)
class Group:
    """People who see the same: staff of one role, or the people of a customer.

    `users` come with the label of their button; `to_try` has a line for each thing to try.
    """

    title: str
    users: list[tuple[User, str]]
    to_try: list[str]


def groups() -> list[Group]:
    """Staff by role, then the customers by name with their engagements."""
    return [*_staff(), *_customers()]


def _staff() -> Iterator[Group]:
    staff = User.objects.filter(is_active=True, is_service=False).exclude(role=Role.NONE)
    for role, users in groupby(staff.order_by("pk"), key=lambda user: Role(user.role)):
        yield Group(role.label, [(user, user.name) for user in users], [TO_TRY[role]])


def _customers() -> Iterator[Group]:
    members = Membership.objects.filter(user__is_service=False).select_related("user")
    companies = (
        Customer.objects.filter(memberships__in=members)
        .distinct()
        .prefetch_related(
            Prefetch("memberships", queryset=members.order_by("pk")),
            Prefetch("engagements", queryset=Engagement.objects.order_by("pk")),
        )
    )
    for company in companies.order_by("name"):
        yield Group(
            company.name,
            [
                (row.user, f"{row.user.name}, {row.get_rights_display().lower()}")
                for row in company.memberships.all()
            ],
            [f"{Stage(row.stage).label}: {row.title}" for row in company.engagements.all()],
        )
