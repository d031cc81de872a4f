"""Page of the governing clauses: every number of each, and publishing the next."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from engagements.contracts.clauses.services import changes, published
from engagements.page_access import consultant_page


class ClauseForm(forms.Form):
    """The next number of a clause, or a new clause."""

    slug = forms.SlugField(
        label="Short name",
        max_length=Clause._meta.get_field("slug").max_length,
        help_text="Such as law: publishes its next number, or a new clause.",
    )
    title = forms.CharField(max_length=Clause._meta.get_field("title").max_length)
    text = forms.CharField(
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text="An empty line starts a paragraph. {fee} is a value; [if refund_days] and "
        "[if rights is licence] before a paragraph choose when it applies.",
    )
    guidance = forms.CharField(
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="For the consultant; not part of a contract.",
    )
    after = forms.IntegerField(min_value=0, initial=0, widget=forms.HiddenInput)


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show the clauses, and publish one as an admin.

    `?from=law` fills the form with the newest number; `do=preview` only shows the differences.
    """
    may_publish = access.is_admin(request.user)
    if request.method != "POST":
        return _page(request, ClauseForm(initial=_start(request)) if may_publish else None)
    if not may_publish:
        raise PermissionDenied("Only admins may publish clauses.")
    form = ClauseForm(request.POST)
    if form.is_valid():
        if request.POST.get("do") == "preview":
            return _page(request, form, preview=_preview(form))
        with errors_shown(request, form):
            clause, is_new = clauses.publish(**form.cleaned_data, by=actor(request))
            outcome = "is published. New drafts use it." if is_new else "has this text already."
            messages.success(request, f"{clause} {outcome}")
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
        "guidance": clause.guidance,
        "after": clause.number,
    }


def _preview(form: ClauseForm) -> dict[str, Any]:
    """The differences from the newest number, or a new clause itself."""
    values = form.cleaned_data
    before = _newest(values["slug"])
    text = values["text"].replace("\r\n", "\n")
    return {
        "before": before,
        "title": values["title"],
        "text": text,
        "differences": changes(before, title=values["title"], text=text) if before else [],
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
