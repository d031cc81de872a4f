"""What is answered where no view does: a page for people, a `detail` for programs."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

API: Final = "/api/"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400."""
    told = (
        "This request cannot be read: its address or what was sent is broken, or a file is "
        "larger than is taken here."
    )
    return _told(request, 400, told) or defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return _told(request, 404, "No such address.") or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500; whoever asked is told nothing of what broke."""
    told = "Something broke on our side. Nothing was half done: try again in a minute."
    return _told(request, 500, told) or defaults.server_error(request)


def _told(request: HttpRequest, status: int, detail: str) -> HttpResponse | None:
    if not request.path.startswith(API):
        return None
    return JsonResponse({"detail": detail}, status=status)
