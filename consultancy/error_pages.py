"""Error handlers for 400, 404 and 500: HTML pages, problem details below /api/."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
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
    """500, without any detail of the error."""
    detail = "Internal error. Nothing was changed; try again in a minute."
    return _problem(request, 500, detail, "internal") or defaults.server_error(request)


def _problem(request: HttpRequest, status: int, detail: str, code: str) -> HttpResponse | None:
    if not request.path.startswith(API):
        return None
    return problems.as_json(status, detail=detail, code=code)
