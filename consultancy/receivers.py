"""What the project does when allauth has something to tell."""

from typing import Any

from allauth.account.adapter import get_adapter
from django.http import HttpRequest

from engagements.people.models import User


def let_in(sender: Any, *, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Whoever chose a password by a mail's link may sign in with it, whatever others tried: allauth
    does so for addresses in a table of its own, in which nobody here has one."""
    get_adapter().let_in(request, user.email)
