"""How people get accounts: invited by the consultancy, never by signing themselves up."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import Http404, HttpRequest, HttpResponse

from engagements.origin import current_address


class AccountAdapter(DefaultAccountAdapter):
    """Sign-in as allauth does it, sign-up closed."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is closed. Ask your contact at the consultancy.",
        "email_password_mismatch": "This address and this password do not belong together.",
        "enter_current_password": "This is not your password.",
        "incorrect_password": "This is not your password.",
        "rate_limited": "That was more than one may ask for at a time. Wait a minute.",
        "too_many_login_attempts": "Too many attempts in vain. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """An account comes with a role or a membership, which only the consultancy gives."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Whose attempts are counted together: behind a proxy those of an address, not of all."""
        return current_address() or super().get_client_ip(request)


class SecondFactorAdapter(DefaultMFAAdapter):
    """The second factor as allauth does it."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong, or its half minute is over. Type the next one.",
    }


def no_such_page(request: HttpRequest) -> HttpResponse:
    """An address comes with its account: nobody adds, changes or confirms one by themselves."""
    raise Http404
