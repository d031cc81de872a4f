"""The governing texts: every number of each, and publishing the next."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import consultant_page
from engagements.forms.clauses import ClauseForm
from engagements.models import Clause
from engagements.services import clauses
from engagements.views.answers import REFUSALS, UNPROCESSABLE, actor, refuse


@consultant_page
@require_http_methods(["GET", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """What governs contracts; admins publish. `?from=law` starts from the newest number."""
    may_publish = access.is_admin(request.user)
    if request.method == "GET":
        return _page(request, ClauseForm(initial=_start(request)) if may_publish else None)
    if not may_publish:
        raise PermissionDenied("Admins publish clauses.")
    form = ClauseForm(request.POST)
    if form.is_valid():
        try:
            published = clauses.publish(**form.cleaned_data, by=actor(request))
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            messages.success(request, f"{published} is published: drafts from now on take it.")
            return redirect("clauses")
    return _page(request, form, status=UNPROCESSABLE)


def _start(request: HttpRequest) -> dict[str, str]:
    slug = request.GET.get("from", "")
    newest = next((clause for clause in clauses.newest() if clause.slug == slug), None)
    return {"slug": slug, "title": newest.title, "text": newest.text} if newest else {}


def _page(request: HttpRequest, form: ClauseForm | None, *, status: int = 200) -> HttpResponse:
    newest = clauses.newest()
    shown = {clause.pk for clause in newest}
    context = {
        "newest": newest,
        "earlier": Clause.objects.exclude(pk__in=shown).order_by("slug", "-number"),
        "form": form,
    }
    return render(request, "engagements/clauses.html", context, status=status)
