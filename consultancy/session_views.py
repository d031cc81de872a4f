"""The page of a user's sessions, each of which they can end."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements.access import actor


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """List the user's sessions; `is_current` marks this one."""
    sessions = UserSession.objects.purge_and_list(actor(request))
    rows = [
        (row, row.session_key == request.session.session_key)
        for row in sorted(sessions, key=lambda row: row.created_at, reverse=True)
    ]
    return render(request, "account/sessions.html", {"rows": rows})


@login_required
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the user's sessions."""
    row = get_object_or_404(UserSession, pk=pk, user=actor(request))
    row.end()
    messages.success(request, "The session was ended.")
    return redirect("sessions")
