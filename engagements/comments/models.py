"""Comments on an engagement or on one of its runs. Append-only."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.runs.models import EngagementRun

MAX_CHARACTERS = 4000


class Comment(models.Model):
    """A comment; an internal one is for the consultancy alone."""

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="comments")
    run = models.ForeignKey(
        EngagementRun, on_delete=models.PROTECT, null=True, blank=True, related_name="comments"
    )
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(max_length=MAX_CHARACTERS)
    is_internal = models.BooleanField(default=False)
    written_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(text=""),
                name="comment_has_a_text",
                violation_error_message="Write a comment first.",
            ),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"{self.author}: {self.text[:60]}"
