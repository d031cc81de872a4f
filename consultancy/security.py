"""What Django 5.2 does not see to itself: response headers, and addresses with null bytes."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


class ContentSecurityPolicyMiddleware:
    """Says on every response what a browser may load."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header, unless the view set its own."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        return response


class NullByteMiddleware:
    """Answers 400 to an address with a null byte in it, which PostgreSQL takes in no text: what a
    list is searched for goes into a query as it is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse such an address; pass every other on."""
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("An address has no null byte.")
        return self.get_response(request)


class PrivateMiddleware:
    """Keeps what somebody reads signed in out of every cache: after they have left, nobody finds
    it by going back, or in a proxy of theirs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header, unless the view set its own."""
        response = self.get_response(request)
        # Who asked is not looked up for what is the same for everybody, such as /healthz.
        if request.session.accessed and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response
