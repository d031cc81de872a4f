"""A picture of ours in an answer: as a file of its own, or in the page's own text."""

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
    """A picture for a template to put out as it is, of which a phone shows the narrow one; empty
    where nothing is to be drawn. Only for what `charts` draws.

    Nothing of its data is markup there: the canvas draws texts as outlines (`svg.fonttype`) and
    escapes title and description, the only words that stay words; a test draws hostile ones.
    """
    wide, narrow = draw("page"), draw("page_narrow")
    if not wide:
        return SafeString("")
    both = f'<div class="picture__wide">{wide}</div><div class="picture__narrow">{narrow}</div>'
    return mark_safe(both)  # noqa: S308  the canvas has escaped its words


def as_file(request: HttpRequest, *, of: str, draw: Callable[[], str]) -> HttpResponseBase:
    """A picture for an <img>, drawn unless the browser has it. 404 where nothing is to be drawn.

    `of` says what it is drawn from: the same words, the same picture. The browser asks every
    time all the same: whoever has left, or may not see it any more, finds none in its cache.
    """
    etag = quote_etag(hashlib.sha256(of.encode()).hexdigest())
    known = get_conditional_response(request, etag=etag)
    if known is not None:
        known["Cache-Control"] = KEPT
        return known
    drawn = draw()
    if not drawn:
        raise Http404("There is nothing to draw.")
    response = HttpResponse(drawn, content_type="image/svg+xml; charset=utf-8")
    response["ETag"], response["Cache-Control"] = etag, KEPT
    # Opened by itself an SVG could run scripts; this one has none and may have none.
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response


THEMES: tuple[Theme, ...] = ("light", "dark", "light_narrow", "dark_narrow")


def known_theme(name: str) -> Theme:
    """The theme of this name. 404 where there is none."""
    for theme in THEMES:
        if theme == name:
            return theme
    raise Http404("No such theme.")


def addresses(view: str, *args: object, query: str = "") -> dict[str, str]:
    """Where a picture is drawn, by theme, as the fragment wants it: `view` takes the theme last."""
    return {theme: reverse(view, args=[*args, theme]) + query for theme in THEMES}
