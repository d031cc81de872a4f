"""The workbench's page, and what of it comes anew while files are read."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.access import consultant_page
from engagements.forms.evidence import FilesForm
from engagements.models import Engagement
from engagements.services import evidence
from engagements.views.answers import may_act
from engagements.views.workbench import pictures
from engagements.views.workbench.bench import bench_of

STOP_POLLING = 286


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The whole bench; `?profile=` and `?against=` choose what is looked at."""
    engagement = access.engagement_for(request.user, reference)
    context = context_of(request, engagement)
    return render(request, "engagements/workbench.html", context)


@consultant_page
@require_safe
def live(request: HttpRequest, reference: str) -> HttpResponse:
    """The files while they are read; once all are, the whole bench and no more polling."""
    engagement = access.engagement_for(request.user, reference)
    context = context_of(request, engagement)
    is_reading = context["bench"].evidence.is_reading
    name = "files" if is_reading else "bench"
    response = render(request, f"engagements/workbench/_{name}.html", context)
    response["Cache-Control"] = "no-store"
    if not is_reading:
        response.status_code = STOP_POLLING
        response["HX-Retarget"] = "#bench"
    return response


def context_of(request: HttpRequest, engagement: Engagement, **more: Any) -> dict[str, Any]:
    """Everything that the bench shows."""
    bench = bench_of(engagement, request.GET.dict())
    acts = may_act(request)
    return {
        "engagement": engagement,
        "bench": bench,
        "pictures": {name: pictures.figure(bench, name) for name in pictures.PICTURES},
        "files": FilesForm(),
        "may_act": acts,
        "may_add": acts and engagement.stage in evidence.STAGES,
        **more,
    }
