"""From where a request came: the event log keeps it beside who did what."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_address: ContextVar[str | None] = ContextVar("address", default=None)


def current_address() -> str | None:
    """The IP address of the request being answered; None in a task or a command."""
    return _address.get()


@contextmanager
def coming_from(address: str | None) -> Iterator[None]:
    """Events recorded inside carry this IP address."""
    token = _address.set(address)
    try:
        yield
    finally:
        _address.reset(token)


class OriginMiddleware:
    """Tells the event log the IP address of whoever asked.

    Behind a proxy (`SECURE_PROXY_SSL_HEADER` is set) that is the last entry that the proxy
    itself wrote into X-Forwarded-For; what stands before it anybody could have written.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with coming_from(_address_of(request)):
            return self.get_response(request)


def _address_of(request: HttpRequest) -> str | None:
    written = str(request.META.get("REMOTE_ADDR", ""))
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None):
        forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
        written = forwarded.rpartition(",")[2].strip() or written
    try:
        return str(ipaddress.ip_address(written))
    except ValueError:
        return None
