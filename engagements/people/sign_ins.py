"""Ending sign-ins and tokens of a person, whatever they were given for."""

from __future__ import annotations

from django.contrib.auth import update_session_auth_hash
from django.db.models import F
from django.http import HttpRequest

from engagements.people.models import User


def end(*, user: User, but: HttpRequest | None = None) -> None:
    """End every sign-in and token of `user`, less the one by which `but` was asked."""
    User.objects.filter(pk=user.pk).update(access_changes=F("access_changes") + 1)
    if but is not None:
        keep(user=user, of=but)


def keep(*, user: User, of: HttpRequest) -> None:
    """Let the sign-in go on by which `of` was asked, after its own person was changed."""
    user.refresh_from_db(fields=["access_changes"])
    update_session_auth_hash(of, user)
