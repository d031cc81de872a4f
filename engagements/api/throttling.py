"""How often an account may ask the API; who is not let in at all is counted in `refusals`.

Counted by all web processes together (`engagements.common.rate_limits`). While their cache is away each counts
for itself and nobody is refused because of it: the limit is then as many times as high as there
are processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from engagements import access
from engagements.common import rate_limits
from engagements.common.rate_limits import Rate, TooMany
from engagements.people.models import User

if TYPE_CHECKING:
    # It reads this class from the settings while it is imported itself.
    from rest_framework.views import APIView

ACCOUNTS: Final = Rate("api", most=300, window_s=60)


class ByAccount(BaseThrottle):
    """So many calls a minute for each account, whatever it asks and from wherever.

    Files that a consultant sends are not counted: they come as fast as the line takes them, and
    whoever was refused would have to send one again.
    """

    def __init__(self) -> None:
        self.wait_s = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count one more, unless it brings a file."""
        if request.method == "POST" and access.is_consultant(request.user):
            return True
        assert isinstance(request.user, User)  # who is not let in was refused before
        try:
            rate_limits.count_account(ACCOUNTS, request.user.pk)
        except TooMany as refused:
            self.wait_s = refused.retry_after_s
            return False
        return True

    def wait(self) -> float:
        """For how many seconds."""
        return self.wait_s
