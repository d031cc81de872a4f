"""Error handlers for 400, 404, 500 and 503: HTML pages, problem details below /api/."""

from __future__ import annotations

import sys
from typing import Final

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.views import defaults

from engagements.api import problems

API: Final = "/api/"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = "Malformed request: check the URL, the body, and the size of the files."
    return _problem(request, 400, detail, "malformed") or defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = "Not found."
    return _problem(request, 404, detail, "not_found") or defaults.page_not_found(
        request, exception
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is away or refuses writes; without any detail of the error."""
    if _is_database_down(sys.exc_info()[1]):
        detail = "The database is unavailable. Repeat the request in a minute."
        response = _problem(request, 503, detail, "unavailable") or HttpResponse(
            get_template("503.html").render(), status=503
        )
        response.headers["Retry-After"] = "30"
        return response
    detail = "Internal error. Nothing was changed; try again in a minute."
    return _problem(request, 500, detail, "internal") or defaults.server_error(request)


def _is_database_down(error: BaseException | None) -> bool:
    if isinstance(error, OperationalError | InterfaceError):
        return True
    # A server whose disk is full may be read-only.
    return isinstance(error, DatabaseError) and isinstance(
        error.__cause__, psycopg.errors.ReadOnlySqlTransaction
    )


def _problem(request: HttpRequest, status: int, detail: str, code: str) -> HttpResponse | None:
    if not request.path.startswith(API):
        return None
    return problems.as_json(status, detail=detail, code=code)
