"""The profiles of a run's candidate: shown beside its result, and added there."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import may_act
from engagements.common.pages import UNPROCESSABLE
from engagements.common.uploads import takes_files
from engagements.evidence import services as evidence
from engagements.evidence.forms import FilesForm
from engagements.evidence.services import LARGEST_FILE_BYTES
from engagements.evidence.views import STOP_POLLING, keep
from engagements.page_access import consultant_page
from engagements.runs.models import EngagementRun
from engagements.runs.profiles import profiles_of


def context_of(request: HttpRequest, run: EngagementRun) -> dict[str, Any]:
    """Context of the panel of profiles."""
    found = profiles_of(run)
    return {
        "engagement": run.engagement,
        "asked": run,
        "profiles": found,
        "profiles_wait": any(not each.row.is_concluded for each in found),
        "adding": FilesForm(auto_id="profile-%s"),
        "may_add": may_act(request) and run.engagement.stage in evidence.STAGES,
    }


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Render the panel alone; stop polling once every file is read."""
    run = access.run_for(request.user, reference, pk)
    context = context_of(request, run)
    response = render(request, "runs/_profiles.html", context)
    if not context["profiles_wait"]:
        response.status_code = STOP_POLLING
    response["Cache-Control"] = "no-store"
    return response


@takes_files(up_to_bytes=LARGEST_FILE_BYTES, of=access.is_consultant)
@consultant_page
@require_POST
def add(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Store a profile of the run's candidate; a worker reads it."""
    run = access.run_for(request.user, reference, pk)
    form = FilesForm(request.POST, request.FILES, auto_id="profile-%s")
    if keep(request, run.engagement, form, candidate=run.run.solution):
        return redirect(f"{reverse('run', args=[reference, pk])}#profiles")
    context = context_of(request, run) | {"adding": form}
    return render(request, "runs/profiles.html", context, status=UNPROCESSABLE)
