"""The pictures of the findings on pages: drawn when asked for, kept by the browser."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from engagements import access
from engagements.audit.charts import of_finding
from engagements.audit.models import Audit
from engagements.audit.report.sections import Section, sections_of
from engagements.charts import responses
from engagements.charts.responses import addresses, known_theme

# What is drawn from the same facts changes when the drawing does.
DRAWING = "1"


def figures(audit: Audit, sections: list[Section]) -> dict[str, dict[str, str]]:
    """By check, what the picture fragment wants; without those that have no picture."""
    return {
        section.check.name: {
            **addresses("audit-picture", audit.engagement.reference, section.check.name),
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
    if audit is None:
        raise Http404("No such picture.")
    if audit.delivered_at is None:
        access.admit_staff(request.user)
    section = next((each for each in sections_of(audit) if each.check.name == check), None)
    if section is None or section.computed is None:
        raise Http404("No such picture.")
    computed, thresholds = section.computed, section.thresholds
    of = json.dumps([DRAWING, check, theme, section.row.computed, audit.thresholds])
    in_theme = known_theme(theme)
    return responses.as_file(
        request, of=of, draw=lambda: of_finding.draw(computed, thresholds, theme=in_theme)
    )
