"""Show who approved money alone, and the button with which the sole owner does."""

from __future__ import annotations

from typing import Any

from django import template

from engagements.people import second_person
from engagements.people.models import User
from engagements.people.proposals import Proposal

register = template.Library()


@register.filter
def is_own(row: Proposal, user: User) -> bool:
    """Whether `user` proposed the row, so that another person completes it."""
    return second_person.is_own(row, by=user)


@register.inclusion_tag("finance/_approve_alone.html", takes_context=True)
def sole_approval(context: template.RequestContext, subject: str) -> dict[str, Any]:
    """Render the approvals of `subject` by a sole owner, or the owner's button."""
    user = context["request"].user
    return {
        "subject": subject,
        "approvals": list(second_person.approvals(subject)),
        "is_sole_owner": isinstance(user, User) and second_person.is_sole_owner(user),
        "csrf_token": context.get("csrf_token"),
    }
