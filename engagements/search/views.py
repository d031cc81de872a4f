"""The search page with its results for the dialog that Ctrl-K opens, and the state of a session."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements.search.queries import search

MAX_CHARACTERS = 100


@require_safe
def session(request: HttpRequest) -> JsonResponse:
    """Say whether the session lives, with the token for its forms; 401 otherwise."""
    is_alive = request.user.is_authenticated
    response = JsonResponse(
        {"token": get_token(request)} if is_alive else {}, status=200 if is_alive else 401
    )
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_safe
def signed_in(request: HttpRequest) -> HttpResponse:
    """Say that the tab has done its work, after a sign-in beside an open form."""
    return render(request, "search/signed_in.html")


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show what `q` finds; for htmx the results alone."""
    text = request.GET.get("q", "").strip()[:MAX_CHARACTERS]
    context = {"text": text, "hits": search(request.user, text)}
    is_part = bool(request.headers.get("HX-Request"))
    return render(request, "search/_hits.html" if is_part else "search/search.html", context)
