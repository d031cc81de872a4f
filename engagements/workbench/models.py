"""Saved filters of the board."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from engagements.people.models import User


class SavedFilter(models.Model):
    """A search of the board that a person named; `query` is that of its address."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_filters")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=300)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["person", "name"],
                name="saved_filter_name_once_a_person",
                violation_error_message="You have a filter with this name.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
