"""What is done on the workbench: files dropped, the operator chosen, lines drawn elsewhere."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import consultant_page
from engagements.forms.evidence import FilesForm
from engagements.services.evidence import LARGEST_FILE_BYTES
from engagements.uploads import takes_files
from engagements.views.answers import UNPROCESSABLE
from engagements.views.evidence import keep
from engagements.views.workbench.page import context_of


@takes_files(up_to_bytes=LARGEST_FILE_BYTES, of=access.is_consultant)
@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Keep the files that were dropped; by htmx the list of files comes back alone."""
    engagement = access.engagement_for(request.user, reference)
    form = FilesForm(request.POST, request.FILES)
    is_kept = keep(request, engagement, form)
    if request.headers.get("HX-Request"):
        shown = {} if is_kept else {"files": form}
        context = context_of(request, engagement) | shown
        status = 200 if is_kept else UNPROCESSABLE
        return render(request, "engagements/workbench/_files.html", context, status=status)
    if is_kept:
        return redirect("engagement-workbench", reference)
    context = context_of(request, engagement) | {"files": form}
    return render(request, "engagements/workbench.html", context, status=UNPROCESSABLE)
