"""How people get accounts: invited by the consultancy, never by signing themselves up."""

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

from consultancy import attempts
from engagements.common.client_ip import current_address
from engagements.common.rate_limits import client_network

# Where a session keeps what its first step of signing in has proved.
PROVED: Final = "proved_by_password"


class AccountAdapter(DefaultAccountAdapter):
    """Sign-in as allauth does it, sign-up closed."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is closed. Ask your contact at the consultancy.",
        "email_password_mismatch": "This address and this password do not belong together.",
        "enter_current_password": "This is not your password.",
        "incorrect_password": "This is not your password.",
        "rate_limited": "That was more than one may ask for at a time. Wait a minute.",
        "too_many_login_attempts": "Too many attempts in vain. Try again in some minutes, or "
        "choose a new password by mail: with that you get in at once.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """An account comes with a role or a membership, which only the consultancy gives."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Whose attempts are counted together: behind a proxy those of an address, not of all,
        and those of all the addresses that one household has."""
        return client_network(current_address()) or super().get_client_ip(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse what was tried too often, from this network or from all that are not known."""
        super().pre_authenticate(request, **credentials)
        anywhere = attempts.count_anywhere(
            request,
            address=str(credentials.get("email", "")),
            network=self.get_client_ip(request),
        )
        if anywhere is None:
            raise self.validation_error("too_many_login_attempts")
        # Taken back with the others once the password turns out to be right.
        self._login_failed_rl_usage.usage += anywhere.usage

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What is tried for an address elsewhere holds up nobody here."""
        key = super()._get_login_attempts_cache_key(request, **credentials)
        return f"{key}:{self.get_client_ip(request)}"

    def let_in(self, request: HttpRequest, address: str) -> None:
        """A link that came by mail lets in, whatever others tried meanwhile."""
        self._delete_login_attempts_cached_email(request, email=address)
        attempts.forget(request, address=address)
        attempts.know(address=address, network=self.get_client_ip(request))

    def pre_login(
        self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any
    ) -> HttpResponse | None:
        """Note what the password stood for: a second step may follow minutes later."""
        request.session[PROVED] = user.get_session_auth_hash()
        answer: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return answer

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Sign in, unless password, address or rights became others since the first step: whoever
        took it with a password that was stolen does not take the second any more."""
        if request.session.pop(PROVED, None) != user.get_session_auth_hash():
            clear_login(request)
            messages.error(request, "Your account was changed meanwhile: sign in once more.")
            raise ImmediateHttpResponse(redirect("account_login"))
        super().login(request, user)
        attempts.know(address=user_email(user) or "", network=self.get_client_ip(request))


class SecondFactorAdapter(DefaultMFAAdapter):
    """The second factor as allauth does it."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong, used up, or its half minute is over. Type the next "
        "one.",
    }


class PasswordLinks(PasswordResetTokenGenerator):
    """Links to choose a password: each ends with its use and the address, as Django has it, and
    with the role or the account that it was sent for."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}.{user.access_changes}"


def no_such_page(request: HttpRequest) -> HttpResponse:
    """An address comes with its account: nobody adds, changes or confirms one by themselves."""
    raise Http404
