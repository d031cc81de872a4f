"""Ask for the password again before a user signs or moves money.

`access` decides who may act; this confirms that it is they who act.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from allauth.account import app_settings as account_settings
from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.reauthentication import suspend_request
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from engagements.common.pages import SAFE_METHODS, View
from engagements.people.models import User


def with_reauthentication(view: View) -> View:
    """Require reauthentication for every unsafe request to `view`.

    Without a password entered within ACCOUNT_REAUTHENTICATION_TIMEOUT the user is asked for it;
    the request is repeated afterwards.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method not in SAFE_METHODS:
            require_reauthentication(request)
        return view(request, *args, **kwargs)

    return guarded


def require_reauthentication(request: HttpRequest) -> None:
    """Require reauthentication inside a view, after its permission checks.

    A user without a password or second factor who did not sign in recently gets a page that
    explains how to set one: allauth would let them pass.
    """
    if not get_adapter().get_reauthentication_methods(request.user) and not _is_recent(request):
        raise ImmediateHttpResponse(render(request, "account/nothing_to_confirm.html", status=403))
    reauthentication_required(lambda request: HttpResponse())(request)


def require_second_factor(request: HttpRequest) -> datetime:
    """Require a second factor entered recently, and return when it was.

    A user without one is sent to the page that sets it up, any other to the page that asks for it.
    """
    user = request.user
    assert isinstance(user, User)
    seconds = account_settings.REAUTHENTICATION_TIMEOUT
    for record in reversed(get_authentication_records(request, user)):
        entered_at = datetime.fromtimestamp(record["at"], tz=UTC)
        if record["method"] == "mfa" and timezone.now() - entered_at < timedelta(seconds=seconds):
            return entered_at
    if not is_mfa_enabled(user):
        raise ImmediateHttpResponse(redirect("mfa_index"))
    has_codes = is_mfa_enabled(user, [Authenticator.Type.TOTP])
    page = "mfa_reauthenticate" if has_codes else "mfa_reauthenticate_webauthn"
    raise ImmediateHttpResponse(suspend_request(request, reverse(page)))


def _is_recent(request: HttpRequest) -> bool:
    since, seconds = signed_in_at(request), account_settings.REAUTHENTICATION_TIMEOUT
    return since is not None and timezone.now() - since < timedelta(seconds=seconds)


def signed_in_at(request: HttpRequest) -> datetime | None:
    """Return when this session last authenticated; None without a record of it."""
    user = request.user if isinstance(request.user, User) else None
    records = get_authentication_records(request, user)
    return datetime.fromtimestamp(records[-1]["at"], tz=UTC) if records else None


def second_factor_at(request: HttpRequest) -> datetime | None:
    """Return when this session's second factor was entered; None without one."""
    user = request.user if isinstance(request.user, User) else None
    records = get_authentication_records(request, user)
    entered = [record["at"] for record in records if record["method"] == "mfa"]
    return datetime.fromtimestamp(entered[-1], tz=UTC) if entered else None
