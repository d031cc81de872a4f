"""Post a comment, as staff or as a person of the customer."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.comments import services
from engagements.comments.models import MAX_CHARACTERS
from engagements.common.integers import wholes
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.engagement.models import Engagement
from engagements.page_access import consultant_page, portal_page


class CommentForm(forms.Form):
    """A comment; staff may keep it internal."""

    text = forms.CharField(
        label="Comment",
        max_length=MAX_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Write @ and a name to notify a person, such as @Petra.",
    )
    is_internal = forms.BooleanField(label="Only for the consultancy", required=False, initial=True)

    def __init__(self, *args: object, is_staff: bool, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if not is_staff:
            del self.fields["is_internal"]


@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Comment on an engagement or, with `run`, on one of its runs."""
    engagement = access.engagement_for(request.user, reference)
    return _add(request, engagement, "engagement", "run")


@portal_page
@require_POST
def add_by_customer(request: HttpRequest, reference: str) -> HttpResponse:
    """Comment as a person of the customer."""
    engagement = access.engagement_for(request.user, reference)
    return _add(request, engagement, "portal-engagement", "portal-run")


def _add(request: HttpRequest, engagement: Engagement, page: str, run_page: str) -> HttpResponse:
    key = next(iter(wholes(request.POST.getlist("run"))), None)
    reference = engagement.reference
    run = access.run_for(request.user, reference, key) if key is not None else None
    back = reverse(run_page, args=[reference, run.pk]) if run else reverse(page, args=[reference])
    form = CommentForm(request.POST, is_staff=access.is_staff_member(request.user))
    if form.is_valid():
        with errors_shown(request, form):
            services.add(engagement=engagement, run=run, by=actor(request), **form.cleaned_data)
            messages.success(request, "Comment added.")
            return redirect(f"{back}#comments")
    context = {"engagement": engagement, "run": run, "form": form, "back": back}
    return render(request, "comments/comment.html", context, status=UNPROCESSABLE)
