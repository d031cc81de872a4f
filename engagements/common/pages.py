"""What views share: who asks and for what, and what a service that refuses is answered with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase

from benchmarks.errors import Refused as BenchmarkRefused
from engagements.common.errors import ApplicationError

REFUSALS = (ApplicationError, BenchmarkRefused)
UNPROCESSABLE = 422


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


View: TypeAlias = Callable[..., HttpResponseBase]


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
