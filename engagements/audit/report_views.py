"""The audit report as a page: what the document says, for the house and for the customer."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.access import consultant_page, portal_page
from engagements.audit import chart_views
from engagements.audit.models import Audit
from engagements.audit.report.context import shown
from engagements.audit.report.sections import sections_of
from engagements.documents.models import Document
from engagements.engagement.models import Engagement


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The report as it stands; of an audit under way it is what would be delivered now."""
    engagement = access.engagement_for(request.user, reference)
    audit = get_object_or_404(Audit, engagement=engagement)
    context = _context(engagement, audit) | {"up": "engagement", "customer_reads": False}
    return render(request, "audit/report.html", context)


@portal_page
@require_safe
def show_to_customer(request: HttpRequest, reference: str) -> HttpResponse:
    """The report once it is delivered; before that it does not exist for the customer."""
    engagement = access.engagement_for(request.user, reference)
    audit = Audit.objects.filter(engagement=engagement, delivered_at__isnull=False).first()
    if audit is None:
        raise Http404("No audit was delivered.")
    context = _context(engagement, audit) | {"up": "portal-engagement", "customer_reads": True}
    return render(request, "audit/report.html", context)


def _context(engagement: Engagement, audit: Audit) -> dict[str, Any]:
    audit.engagement = engagement
    sections = sections_of(audit)
    paper = Document.objects.filter(
        kind=Document.Kind.AUDIT_REPORT, subject=f"audit:{audit.pk}"
    ).first()
    return {
        **shown(audit, sections),
        "figures": chart_views.figures(audit, sections),
        "paper": paper,
    }
