"""The pictures of the findings on pages: drawn when asked for, kept by the browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from engagements import access
from engagements.charts import of_finding
from engagements.documents.audit_report.sections import Section, sections_of
from engagements.models import Audit
from engagements.views.pictures import THEMES

# What is drawn from the same facts changes when the drawing does.
DRAWING = "1"


def figures(audit: Audit, sections: list[Section]) -> dict[str, dict[str, str]]:
    """By check, what the picture fragment wants; without those that have no picture."""
    return {
        section.check.name: {
            **{
                theme: reverse(
                    "audit-picture", args=[audit.engagement.reference, section.check.name, theme]
                )
                for theme in THEMES
            },
            "alt": told.words,
            "title": told.title,
            "caption": told.caption,
        }
        for section in sections
        if (told := section.picture) is not None
    }


@login_required
@require_safe
def show(request: HttpRequest, reference: str, check: str, theme: str) -> HttpResponseBase:
    """One check's picture. Customers see those of a delivered audit."""
    engagement = access.engagement_for(request.user, reference)
    audit = Audit.objects.filter(engagement=engagement).first()
    if audit is None or theme not in THEMES:
        raise Http404("No such picture.")
    if audit.delivered_at is None:
        access.require_house(request.user)
    section = next((each for each in sections_of(audit) if each.check.name == check), None)
    if section is None or section.computed is None:
        raise Http404("No such picture.")
    computed, thresholds = section.computed, section.thresholds
    of = json.dumps([DRAWING, check, theme, section.row.computed, audit.thresholds])
    return svg(
        request,
        of,
        lambda: of_finding.draw(computed, thresholds, theme="dark" if theme == "dark" else "light"),
    )


def svg(request: HttpRequest, of: str, draw: Callable[[], str]) -> HttpResponseBase:
    """An SVG, drawn unless the browser has it. 404 where there is nothing to draw."""
    etag = quote_etag(hashlib.sha256(of.encode()).hexdigest())
    known = get_conditional_response(request, etag=etag)
    if known is not None:
        return known
    drawn = draw()
    if not drawn:
        raise Http404("There is nothing to draw.")
    response = HttpResponse(drawn, content_type="image/svg+xml; charset=utf-8")
    response["ETag"], response["Cache-Control"] = etag, "private, no-cache"
    # Opened by itself an SVG could run scripts; this one has none and may have none.
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response
