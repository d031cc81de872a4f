"""Charts in responses: as a file, or inline in a page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.utils.safestring import SafeString, mark_safe

from engagements.charts.palette import Theme

KEPT = "private, no-cache"


def inline(draw: Callable[[Theme], str]) -> SafeString:
    """Return a chart as safe markup, wide and narrow for phones; empty without data. Only for
    functions of `charts`.

    Its data cannot inject markup: the canvas draws texts as outlines (`svg.fonttype`) and escapes
    title and description.
    """
    wide, narrow = draw("page"), draw("page_narrow")
    if not wide:
        return SafeString("")
    both = f'<div class="picture__wide">{wide}</div><div class="picture__narrow">{narrow}</div>'
    return mark_safe(both)  # noqa: S308  the canvas escapes all text


def as_file(request: HttpRequest, *, of: str, draw: Callable[[], str]) -> HttpResponseBase:
    """Return a chart for an <img>, unless the browser has it. 404 without data.

    `of` identifies the data for the ETag. Browsers revalidate every time, so that a user without
    access no longer sees it.
    """
    etag = quote_etag(hashlib.sha256(of.encode()).hexdigest())
    known = get_conditional_response(request, etag=etag)
    if known is not None:
        known["Cache-Control"] = KEPT
        return known
    drawn = draw()
    if not drawn:
        raise Http404("No data for this chart.")
    response = HttpResponse(drawn, content_type="image/svg+xml; charset=utf-8")
    response["ETag"], response["Cache-Control"] = etag, KEPT
    # An SVG opened by itself could run scripts; this forbids them.
    response["Content-Security-Policy"] = "default-src 'none'"
    return response


THEMES: tuple[Theme, ...] = ("light", "dark", "light_narrow", "dark_narrow")


def known_theme(name: str) -> Theme:
    """Return the theme of this name; 404 for an unknown one."""
    for theme in THEMES:
        if theme == name:
            return theme
    raise Http404("No such theme.")


def addresses(view: str, *args: object, query: str = "") -> dict[str, str]:
    """Return the chart's URLs by theme, as context of the fragment. The theme is the last "
    "argument of `view`."""
    return {theme: reverse(view, args=[*args, theme]) + query for theme in THEMES}
