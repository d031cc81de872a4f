"""What the API answers where it refuses: a `detail`, and who asks too often when to come again."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from engagements.common import rate_limits
from engagements.common.client_ip import current_address
from engagements.common.rate_limits import Rate, TooMany

STRANGERS: Final = Rate("api-refused", most=30, window_s=60)


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """As Django REST framework answers an error; 429 with Retry-After in words of this house.

    Whoever is not let in is counted here by address, since they are refused before any throttle.
    """
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        try:
            rate_limits.count(STRANGERS, current_address())
        except TooMany as refused:
            error = exceptions.Throttled(wait=refused.retry_after_s)
    wait_s = getattr(error, "wait", None)
    if isinstance(error, exceptions.Throttled) and wait_s is not None:
        in_words = TooMany(int(wait_s)).in_words
        error.detail = exceptions.ErrorDetail(f"Too many requests: try again in {in_words}.")
    return exception_handler(error, context)
