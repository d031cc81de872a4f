"""The client's IP address, which the event log records."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_address: ContextVar[str | None] = ContextVar("address", default=None)


def current_address() -> str | None:
    """Return the IP address of the current request; None in a task or a command."""
    return _address.get()


@contextmanager
def client_address(address: str | None) -> Iterator[None]:
    """Record events inside with this IP address."""
    token = _address.set(address)
    try:
        yield
    finally:
        _address.reset(token)


class ClientAddressMiddleware:
    """Provide the client's IP address to the event log.

    Behind a proxy (`SECURE_PROXY_SSL_HEADER` is set) it is the last entry of X-Forwarded-For,
    which the proxy itself added; a client can forge the entries before it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with client_address(_address_of(request)):
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
