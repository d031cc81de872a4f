"""A fresh sign-in: whoever binds somebody has just proved who they are.

`access` says who may act at all; this asks whether it is really they.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from allauth.account import app_settings as account_settings
from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ImmediateHttpResponse
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from engagements.common.pages import SAFE_METHODS, View
from engagements.people.models import User


def with_fresh_sign_in(view: View) -> View:
    """A page on which acting binds somebody: whoever acts has typed their password within
    ACCOUNT_REAUTHENTICATION_TIMEOUT. Who has not is asked for it, and then the act goes on."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method not in SAFE_METHODS:
            require_fresh_sign_in(request)
        return view(request, *args, **kwargs)

    return guarded


def require_fresh_sign_in(request: HttpRequest) -> None:
    """The same in the middle of a view, where who may not act at all has been told so already.

    Who has nothing to confirm with, and did not sign in just now, is told how to get a password:
    allauth would let them pass.
    """
    if not get_adapter().get_reauthentication_methods(request.user) and not _is_new(request):
        raise ImmediateHttpResponse(render(request, "account/nothing_to_confirm.html", status=403))
    reauthentication_required(lambda request: HttpResponse())(request)


def _is_new(request: HttpRequest) -> bool:
    signed_in, lately = signed_in_at(request), account_settings.REAUTHENTICATION_TIMEOUT
    return signed_in is not None and timezone.now() - signed_in < timedelta(seconds=lately)


def signed_in_at(request: HttpRequest) -> datetime | None:
    """When this person last proved in this session who they are; None when nothing says so."""
    user = request.user if isinstance(request.user, User) else None
    records = get_authentication_records(request, user)
    return datetime.fromtimestamp(records[-1]["at"], tz=UTC) if records else None
