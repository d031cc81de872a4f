"""The discussion of an engagement or a run, for any page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.urls import reverse

from engagements import access
from engagements.comments import services
from engagements.comments.views import CommentForm
from engagements.engagement.models import Engagement
from engagements.runs.models import EngagementRun

register = template.Library()


@register.inclusion_tag("comments/_discussion.html", takes_context=True)
def discussion(
    context: Context, engagement: Engagement, run: EngagementRun | None = None
) -> dict[str, Any]:
    """The comments that the user may read, and the form for another one."""
    user = context["request"].user
    is_staff = access.is_staff_member(user)
    in_portal = context["request"].path.startswith(reverse("portal"))
    name = "portal-comment" if in_portal else "comment"
    return {
        "comments": services.comments_of(engagement, user=user, run=run),
        "run": run,
        "url": reverse(name, args=[engagement.reference]),
        "form": CommentForm(is_staff=is_staff, auto_id="comment-%s"),
        "may_comment": access.is_consultant(user) if is_staff else in_portal,
        "csrf_token": context.get("csrf_token"),
    }
