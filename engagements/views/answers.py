"""What views share: who asks and for what, and what a service that refuses is answered with."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from benchmarks.errors import Refused as BenchmarkRefused
from engagements import access
from engagements.errors import Refused
from engagements.models import User

REFUSALS = (Refused, BenchmarkRefused)
UNPROCESSABLE = 422


def actor(request: HttpRequest) -> User:
    """Whoever is signed in; `access` let nobody else come this far."""
    assert isinstance(request.user, User)
    return request.user


def may_act(request: HttpRequest) -> bool:
    """Whether this person does a consultant's work, so that pages offer them the buttons."""
    return access.is_consultant(request.user)


def query_of(request: HttpRequest, *, without: tuple[str, ...] = ("page",)) -> str:
    """The address's query for the links of a list, less what they say themselves."""
    query = request.GET.copy()
    for name in without:
        query.pop(name, None)
    return query.urlencode()


def refuse(request: HttpRequest, refused: Exception, form: forms.Form | None = None) -> None:
    """Show a refusal in the form that asked, or above the page where there is none."""
    if form is not None:
        form.add_error(None, str(refused))
    else:
        messages.error(request, str(refused))
