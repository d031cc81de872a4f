"""Who is asking, once the page's guard has let them in."""

from __future__ import annotations

from django.http import HttpRequest

from engagements.models import User


def signed_in(request: HttpRequest) -> User:
    """The person who asks. Only for views that `engagements.access` guards."""
    user = request.user
    assert isinstance(user, User), "a guarded view was reached by nobody"
    return user
