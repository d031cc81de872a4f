"""Receivers of allauth's signals."""

from typing import Any

from allauth.account.adapter import get_adapter
from django.http import HttpRequest

from engagements.people.models import User


def clear_login_limits(sender: Any, *, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Let a user sign in at once with a password reset by mail.

    allauth clears its limits only for addresses in its own EmailAddress table, unused here.
    """
    get_adapter().clear_login_limits(request, user.email)
