"""Error responses of the API: problem details (RFC 9457) with stable codes.

`detail` is for people, `code` for programs, as in `contract.changed`. `errors` lists the fields
of a request that are invalid.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from django.http import JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from engagements.api.throttles import RejectedThrottle
from engagements.common.pages import APPLICATION_ERRORS
from engagements.common.rate_limits import RateLimited

CONTENT_TYPE: Final = "application/problem+json"
# Codes of services that have a status of their own; all others are 422.
STATUS: Final = {
    "contract.changed": HTTPStatus.PRECONDITION_FAILED,
    "idempotency.in_progress": HTTPStatus.CONFLICT,
    "record.too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "run.stale_attempt": HTTPStatus.GONE,
}


class PreconditionRequired(exceptions.APIException):
    """A write that needs `If-Match` and has none."""

    status_code = HTTPStatus.PRECONDITION_REQUIRED
    default_code = "if_match.missing"
    default_detail = "Send If-Match with the ETag of the row as you read it."


def respond(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to an error that a view raised; None leaves it to Django.

    Requests without valid credentials are rejected before Django REST framework throttles, so
    they are counted here, by address.
    """
    if isinstance(error, APPLICATION_ERRORS):
        code = getattr(error, "code", "benchmark.declined")
        status = STATUS.get(code, HTTPStatus.UNPROCESSABLE_ENTITY)
        return _problem(status, detail=str(error), code=code)
    if isinstance(error, RateLimited):
        error = exceptions.Throttled(wait=error.retry_after_s)
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        throttle = RejectedThrottle()
        if not throttle.allow_request(context["request"], context["view"]):
            error = exceptions.Throttled(wait=throttle.wait())
    response = exception_handler(error, context)
    if response is None:
        return None
    problem = _problem(HTTPStatus(response.status_code), **_members(error, response))
    for name in ("Retry-After", "WWW-Authenticate"):
        if name in response:
            problem[name] = response[name]
    return problem


def problem_body(status: HTTPStatus, *, detail: str, code: str) -> dict[str, Any]:
    """Return the members of a problem. Its `code` identifies it, so `type` adds nothing."""
    return {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
    }


def as_json(status: int, *, detail: str, code: str) -> JsonResponse:
    """Return a problem outside of the views of Django REST framework."""
    body = problem_body(HTTPStatus(status), detail=detail, code=code)
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)


def _problem(
    status: HTTPStatus, *, detail: str, code: str, errors: list[dict[str, str]] | None = None
) -> Response:
    body = problem_body(status, detail=detail, code=code)
    if errors:
        body["errors"] = errors
    return Response(body, status=int(status), content_type=CONTENT_TYPE)


def _members(error: Exception, response: Response) -> dict[str, Any]:
    """The detail and code of an error that Django REST framework knows."""
    if isinstance(error, exceptions.ValidationError):
        errors = list(_fields(error.get_full_details()))
        first = errors[0]
        subject = f"{first['field']}: " if first["field"] else ""
        return {"detail": subject + first["detail"], "code": "invalid", "errors": errors}
    if isinstance(error, exceptions.APIException):
        codes = error.get_codes()
        return {"detail": str(error.detail), "code": codes if isinstance(codes, str) else "invalid"}
    # Django's own Http404 and PermissionDenied.
    code = "not_found" if response.status_code == HTTPStatus.NOT_FOUND else "permission_denied"
    return {"detail": str(error) or HTTPStatus(response.status_code).phrase, "code": code}


def _fields(details: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Every invalid field with its path, such as milestones.0.amount."""
    if isinstance(details, list):
        for index, one in enumerate(details):
            is_message = isinstance(one, dict) and {"message", "code"} == set(one)
            yield from _fields(one, path if is_message else f"{path}.{index}".lstrip("."))
    elif isinstance(details, dict) and {"message", "code"} == set(details):
        yield {"field": path, "code": str(details["code"]), "detail": str(details["message"])}
    elif isinstance(details, dict):
        for name, one in details.items():
            name = "" if name == "non_field_errors" else str(name)
            yield from _fields(one, f"{path}.{name}".strip("."))
