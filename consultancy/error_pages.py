"""Error handlers for 400, 404 and 500: HTML pages, JSON below /api/."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

API: Final = "/api/"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = "Malformed request: check the URL, the body, and the size of the files."
    return _api_response(request, 400, detail) or defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = "Not found."
    return _api_response(request, 404, detail) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, without any detail of the error."""
    detail = "Internal error. Nothing was changed; try again in a minute."
    return _api_response(request, 500, detail) or defaults.server_error(request)


def _api_response(request: HttpRequest, status: int, detail: str) -> HttpResponse | None:
    if not request.path.startswith(API):
        return None
    return JsonResponse({"detail": detail}, status=status)
