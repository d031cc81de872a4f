"""The governing texts: every number of each, and publishing the next."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor, consultant_page
from engagements.common.pages import REFUSALS, UNPROCESSABLE, refuse
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.forms import ClauseForm
from engagements.contracts.clauses.models import Clause
from engagements.contracts.clauses.queries import changes, published


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """What governs contracts; admins publish. `?from=law` starts from the newest number, and
    sent with `do=preview` the page shows what would change and publishes nothing."""
    may_publish = access.is_admin(request.user)
    if request.method != "POST":
        return _page(request, ClauseForm(initial=_start(request)) if may_publish else None)
    if not may_publish:
        raise PermissionDenied("Admins publish clauses.")
    form = ClauseForm(request.POST)
    if form.is_valid():
        if request.POST.get("do") == "preview":
            return _page(request, form, preview=_preview(form))
        try:
            clause, is_new = clauses.publish(**form.cleaned_data, by=actor(request))
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            told = "is published: drafts from now on take it" if is_new else "says that already"
            messages.success(request, f"{clause} {told}.")
            return redirect("clauses")
    return _page(request, form, status=UNPROCESSABLE)


def _newest(slug: str) -> Clause | None:
    return next((clause for clause in clauses.newest() if clause.slug == slug), None)


def _start(request: HttpRequest) -> dict[str, Any]:
    clause = _newest(request.GET.get("from", ""))
    if clause is None:
        return {}
    return {
        "slug": clause.slug,
        "title": clause.title,
        "text": clause.text,
        "after": clause.number,
    }


def _preview(form: ClauseForm) -> dict[str, Any]:
    """What publishing would change; without a number before, the text itself."""
    typed = form.cleaned_data
    before = _newest(typed["slug"])
    text = typed["text"].replace("\r\n", "\n")
    return {
        "before": before,
        "title": typed["title"],
        "text": text,
        "differences": changes(before, title=typed["title"], text=text) if before else [],
    }


def _page(
    request: HttpRequest,
    form: ClauseForm | None,
    *,
    preview: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    newest = [clause.pk for clause in clauses.newest()]
    every = published()
    context = {
        "newest": [every[pk] for pk in newest],
        "earlier": [row for pk, row in every.items() if pk not in newest],
        "form": form,
        "preview": preview,
    }
    return render(request, "contracts/clauses.html", context, status=status)
