"""Draft a contract from a delivered audit."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor, consultant_page
from engagements.audit.views import audit_page
from engagements.common.pages import REFUSALS, UNPROCESSABLE, refuse
from engagements.contracts import first_drafts


@consultant_page
@require_POST
def draft(request: HttpRequest, reference: str) -> HttpResponse:
    """Draft the contract from what the audit found: shapes, baseline, target, weeks, fee."""
    engagement = access.engagement_for(request.user, reference)
    try:
        version = first_drafts.from_audit(engagement=engagement, by=actor(request))
    except REFUSALS as refused:
        refuse(request, refused)
        return audit_page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"Version {version.number} is drafted from the audit.")
    return redirect("engagement-contract", reference)
