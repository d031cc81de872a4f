"""Security middleware: CSP, null bytes in URLs, private caching, required second factors."""

from collections.abc import Callable
from datetime import timedelta

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from engagements import access


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Where to report a vulnerability (RFC 9116); 404 where no contact is configured."""
    if not settings.TWOFOLD_SECURITY_CONTACT:
        raise Http404
    expires = timezone.now().replace(microsecond=0) + timedelta(days=180)
    lines = (
        f"Contact: {settings.TWOFOLD_SECURITY_CONTACT}",
        f"Expires: {expires.isoformat().replace('+00:00', 'Z')}",
        "Preferred-Languages: en",
    )
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


class ContentSecurityPolicyMiddleware:
    """Sets the Content-Security-Policy header on every response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header, unless the view set its own."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        return response


class NullByteMiddleware:
    """Rejects URLs that contain a null byte, which PostgreSQL accepts in no text value.

    List pages pass their search parameter to the database unchanged.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Raise BadRequest for such a URL."""
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The URL contains a null byte.")
        return self.get_response(request)


class PrivateMiddleware:
    """Keeps the pages of a signed-in user out of browser and proxy caches.

    After sign-out, the browser's back button shows none of them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header, unless the view set its own."""
        response = self.get_response(request)
        # Reading the user would query the session on public pages such as /healthz.
        if request.session.accessed and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SecondFactorMiddleware:
    """Sends users who need a second factor and have none to the page that sets one up.

    Sign-in asks for a second factor that is set up, so a session of theirs has passed it.
    """

    # Pages of the account itself, and those without a user.
    OPEN = ("/accounts/", "/healthz", "/metrics", "/static/")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Redirect where SECOND_FACTOR_REQUIRED is on and the user lacks one."""
        if settings.SECOND_FACTOR_REQUIRED and not request.path.startswith(self.OPEN):
            user = request.user
            if access.needs_second_factor(user) and not is_mfa_enabled(user):
                messages.warning(request, "Your role needs a second factor. Set it up to go on.")
                return redirect("mfa_activate_totp")
        return self.get_response(request)
