"""The audit report as a page, for consultants and for customers, and its charts."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.audit.models import Audit
from engagements.audit.report.context import context_of
from engagements.audit.report.sections import Section, sections_of
from engagements.charts import responses
from engagements.charts.responses import addresses, known_theme
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.page_access import consultant_page, portal_page

# Part of the ETag: raise it when a chart is drawn differently.
DRAWING = "2"


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the report; of an audit under way, as it would be delivered now."""
    engagement = access.engagement_for(request.user, reference)
    audit = get_object_or_404(Audit, engagement=engagement)
    context = _context(engagement, audit) | {"up": "engagement", "customer_reads": False}
    return render(request, "audit/report.html", context)


@portal_page
@require_safe
def show_to_customer(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the report of a delivered audit."""
    engagement = access.engagement_for(request.user, reference)
    audit = Audit.objects.filter(engagement=engagement, delivered_at__isnull=False).first()
    if audit is None:
        raise Http404("No audit was delivered.")
    context = _context(engagement, audit) | {"up": "portal-engagement", "customer_reads": True}
    return render(request, "audit/report.html", context)


@login_required
@require_safe
def chart(request: HttpRequest, reference: str, check: str, theme: str) -> HttpResponseBase:
    """Draw one check's chart. Customers see those of a delivered audit."""
    engagement = access.engagement_for(request.user, reference)
    audit = Audit.objects.filter(engagement=engagement).first()
    if audit is None:
        raise Http404("No such chart.")
    if audit.delivered_at is None:
        access.admit_staff(request.user)
    section = next((each for each in sections_of(audit) if each.check.name == check), None)
    found = section.chart if section else None
    if section is None or found is None:
        raise Http404("No such chart.")
    of = json.dumps([DRAWING, check, theme, section.row.computed, audit.thresholds])
    in_theme = known_theme(theme)
    return responses.as_file(request, of=of, draw=lambda: found.draw(in_theme))


def charts_of(audit: Audit, sections: list[Section]) -> dict[str, dict[str, str]]:
    """Return the addresses and texts of the charts, by check."""
    return {
        section.check.name: {
            **addresses("audit-picture", audit.engagement.reference, section.check.name),
            "alt": found.alt,
            "title": found.title,
            "caption": found.caption,
        }
        for section in sections
        if (found := section.chart) is not None
    }


def _context(engagement: Engagement, audit: Audit) -> dict[str, Any]:
    audit.engagement = engagement
    sections = sections_of(audit)
    document = Document.objects.filter(
        kind=Document.Kind.AUDIT_REPORT, subject=f"audit:{audit.pk}"
    ).first()
    return {
        **context_of(audit, sections),
        "figures": charts_of(audit, sections),
        "document": document,
    }
