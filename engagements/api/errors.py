"""Error responses of the API: `detail` for people, `code` for programs."""

from __future__ import annotations

from typing import Any

from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from engagements.api.throttles import RejectedThrottle
from engagements.common.pages import APPLICATION_ERRORS


def respond(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to an error that a view raised; None leaves it to Django.

    Requests without valid credentials are rejected before Django REST framework throttles, so
    they are counted here, by address.
    """
    if isinstance(error, APPLICATION_ERRORS):
        body = {"detail": str(error), "code": getattr(error, "code", "benchmark.declined")}
        return Response(body, status=status.HTTP_422_UNPROCESSABLE_ENTITY)
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        throttle = RejectedThrottle()
        if not throttle.allow_request(context["request"], context["view"]):
            error = exceptions.Throttled(wait=throttle.wait())
    response = exception_handler(error, context)
    if response is not None and isinstance(error, exceptions.APIException):
        codes = error.get_codes()
        if isinstance(codes, str) and isinstance(response.data, dict):
            response.data["code"] = codes
    return response
