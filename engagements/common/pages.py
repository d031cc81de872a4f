"""Helpers shared by views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseBase

from benchmarks.errors import BenchmarkError
from engagements.common.errors import ApplicationError

View: TypeAlias = Callable[..., HttpResponseBase]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
APPLICATION_ERRORS = (ApplicationError, BenchmarkError)
UNPROCESSABLE = 422


def query_of(request: HttpRequest, *, without: tuple[str, ...] = ("page",)) -> str:
    """Return the query string for the links of a list, without the parameters they set."""
    query = request.GET.copy()
    for name in without:
        query.pop(name, None)
    return query.urlencode()


def show_error(
    request: HttpRequest,
    error: ApplicationError | BenchmarkError,
    form: forms.BaseForm | None = None,
) -> None:
    """Show an error in the submitted form, or above the page without one."""
    if form is not None:
        form.add_error(None, ValidationError(error.message, code=error.code))
    else:
        messages.error(request, str(error))


@contextmanager
def errors_shown(request: HttpRequest, form: forms.BaseForm | None = None) -> Iterator[None]:
    """Show an error of a service called inside, and continue after the block."""
    try:
        yield
    except APPLICATION_ERRORS as error:
        show_error(request, error, form)
