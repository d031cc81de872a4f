"""How people get accounts: invited by the consultancy, never by signing themselves up."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Sign-in as allauth does it, sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """An account comes with a role or a membership, which only the consultancy gives."""
        return False
