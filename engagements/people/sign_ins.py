"""End the sessions and API tokens of a user."""

from __future__ import annotations

from django.contrib.auth import update_session_auth_hash
from django.db.models import F
from django.http import HttpRequest

from engagements.people.models import User


def end_all(*, user: User, except_for: HttpRequest | None = None) -> None:
    """End every session and API token of `user`, except the session of a request."""
    User.objects.filter(pk=user.pk).update(access_changes=F("access_changes") + 1)
    if except_for is not None:
        keep_current(user=user, request=except_for)


def keep_current(*, user: User, request: HttpRequest) -> None:
    """Keep the session of `request` valid after a change to its user."""
    user.refresh_from_db(fields=["access_changes"])
    update_session_auth_hash(request, user)
