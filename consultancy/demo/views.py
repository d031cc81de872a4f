"""Pages of the demonstration alone: sign in by a button, and read its mails. 404 elsewhere."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from consultancy.demo import mailbox
from engagements.people.models import User


def is_enabled() -> bool:
    """Whether this is the demonstration, which production never is."""
    return bool(settings.TWOFOLD_DEMO and not settings.PRODUCTION)


@require_POST
def sign_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Sign in as a person of the demonstration, without a password.

    It counts as a password just entered, so that a visitor may sign and approve, too.
    """
    _require_demo()
    user = get_object_or_404(User, pk=pk, is_active=True)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    record_authentication(request, user, method="password", reauthenticated=True)
    # allauth lists the sessions that it signs in itself.
    UserSession.objects.create_from_request(request)
    return redirect("home")


@require_safe
def mails(request: HttpRequest) -> HttpResponse:
    """Show every mail that was sent, newest first."""
    _require_demo()
    return render(request, "demo/mails.html", {"mails": mailbox.mails()})


def _require_demo() -> None:
    if not is_enabled():
        raise Http404("Only the demonstration has this page.")
