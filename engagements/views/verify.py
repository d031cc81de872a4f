"""For everybody, signed in or not: whose signatures stand under records, and how to check one."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.models import SigningKey


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """How to verify a record, and every public key."""
    return render(request, "verify.html", {"keys": SigningKey.objects.all()})


@require_safe
def public_key(request: HttpRequest, key_id: str) -> HttpResponse:
    """One public key as plain text, PEM."""
    key = SigningKey.objects.filter(key_id=key_id).first()
    if key is None:
        raise Http404("No such key.")
    response = HttpResponse(key.public_key, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
