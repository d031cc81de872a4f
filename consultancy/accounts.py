"""Adapters for allauth: invited accounts only, and rate limits by network."""

from __future__ import annotations

from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import clear_login
from allauth.account.utils import user_email
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from consultancy import login_limits
from engagements.common.client_ip import current_address
from engagements.common.rate_limits import client_network

# Session key: the user's authentication hash when the password was verified.
FIRST_STEP: Final = "first_step"


class AccountAdapter(DefaultAccountAdapter):
    """allauth's sign-in, with sign-up closed and failed sign-ins limited by network."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is closed. Ask your contact at the consultancy.",
        "email_password_mismatch": "Wrong email address or password.",
        "enter_current_password": "Wrong password. Enter your current password.",
        "incorrect_password": "Wrong password. Enter your current password.",
        "rate_limited": "Too many requests. Try again in a minute.",
        "too_many_login_attempts": "Too many failed attempts. Try again in a few minutes, or reset "
        "your password by email to sign in at once.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Always false: the consultancy creates each account with its role or membership."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The first address of the client's network behind the proxy, that attempts count for.

        An IPv6 /64 is one client. Sessions keep this address too.
        """
        network = client_network(current_address()) or super().get_client_ip(request)
        return network.partition("/")[0]

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Reject the attempt if this network or all unknown networks have used up the limit."""
        super().pre_authenticate(request, **credentials)
        usage = login_limits.count_attempt(
            request,
            address=str(credentials.get("email", "")),
            network=self.get_client_ip(request),
        )
        if usage is None:
            raise self.validation_error("too_many_login_attempts")
        # allauth rolls this usage back when the password is correct.
        self._login_failed_rl_usage.usage += usage.usage

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count attempts on an address by network, so that strangers cannot lock it."""
        key = super()._get_login_attempts_cache_key(request, **credentials)
        return f"{key}:{self.get_client_ip(request)}"

    def clear_login_limits(self, request: HttpRequest, address: str) -> None:
        """Forget the failed attempts on an address whose owner followed a mailed link."""
        self._delete_login_attempts_cached_email(request, email=address)
        login_limits.clear_attempts(request, address=address)
        login_limits.trust_network(address=address, network=self.get_client_ip(request))

    def pre_login(
        self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any
    ) -> HttpResponse | None:
        """Remember the authentication hash: a second step may follow minutes later."""
        request.session[FIRST_STEP] = user.get_session_auth_hash()
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Sign in, unless password, address or rights changed since the password step.

        A thief who passed that step with a stolen password cannot complete the second one.
        """
        if request.session.pop(FIRST_STEP, None) != user.get_session_auth_hash():
            clear_login(request)
            messages.error(request, "Your account changed while you signed in. Sign in again.")
            raise ImmediateHttpResponse(redirect("account_login"))
        super().login(request, user)
        login_limits.trust_network(
            address=user_email(user) or "", network=self.get_client_ip(request)
        )


class SecondFactorAdapter(DefaultMFAAdapter):
    """allauth's second factor with this site's error messages."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "Wrong or expired code. Codes expire after 30 seconds; enter the "
        "current one.",
    }


class PasswordResetTokens(PasswordResetTokenGenerator):
    """Password reset tokens that a change of role or account state also invalidates."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}.{user.access_changes}"


def email_management_disabled(request: HttpRequest) -> HttpResponse:
    """404 for allauth's email pages: the consultancy sets each account's address."""
    raise Http404
