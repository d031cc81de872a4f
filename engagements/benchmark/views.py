"""Pages of a customer's own benchmark, the same for both sides but for their frame and words.

`side` comes from the address: the workbench's pages are the consultancy's, the portal's the
customer's (see `urls`).
"""

from __future__ import annotations

import io
import uuid
import zipfile
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.records.folder_archives import MAX_ARCHIVE_BYTES
from engagements import access
from engagements.access import actor
from engagements.benchmark import drafts, reading
from engagements.benchmark import services as benchmark
from engagements.benchmark.forms import ApproveForm, CommentForm, UploadForm
from engagements.benchmark.models import BenchmarkVersion, Side
from engagements.candidates.writing import template_response
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.common.uploads import takes_files
from engagements.engagement.models import Engagement

STOP_POLLING = 286
STARTERS = Path(__file__).resolve().parents[2] / "benchmarks" / "harness" / "starters"


@require_safe
def show(request: HttpRequest, reference: str, side: Side) -> HttpResponse:
    """Show the newest version, or `?version=2`, against another with `?against=1`."""
    return _page(request, _engagement(request, reference), side)


@takes_files(up_to_bytes=MAX_ARCHIVE_BYTES)
@require_POST
def upload(request: HttpRequest, reference: str, side: Side) -> HttpResponse:
    """Upload the next version; a worker checks it."""
    engagement = _engagement(request, reference)
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        chosen = form.cleaned_data["archive"]
        with errors_shown(request, form):
            version = benchmark.upload(
                engagement=engagement, name=chosen.name, content=chosen, by=actor(request)
            )
            messages.success(request, f"Version {version.number} is uploaded and being checked.")
            return _to(version, side)
    return _page(request, engagement, side, upload=form, status=UNPROCESSABLE)


@require_safe
def live(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Render the check's log; stop polling and reload once it has ended."""
    version = _version(request, reference, number)
    context = reading.check_context(version, side)
    context["may_act"] = reading.may_act(version.engagement, side, actor(request))
    response = render(request, "benchmark/_check.html", context)
    if context["check"] is None or context["check"].is_concluded:
        response.status_code = STOP_POLLING
        response["HX-Refresh"] = "true"
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def check(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Check a version again."""
    version = _version(request, reference, number)
    try:
        key = uuid.UUID(request.POST.get("request_key", ""))
    except ValueError:
        raise Http404("No such check.") from None
    with errors_shown(request):
        benchmark.check(version=version, by=actor(request), request_key=key)
    return _to(version, side)


@require_POST
def cancel(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Cancel the check of a version."""
    version = _version(request, reference, number)
    with errors_shown(request):
        benchmark.cancel(version=version, by=actor(request))
    return _to(version, side)


@require_POST
def comment(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Comment on a version."""
    version = _version(request, reference, number)
    form = CommentForm(request.POST, paths=reading.paths_of(version))
    if form.is_valid():
        with errors_shown(request, form):
            benchmark.comment(version=version, by=actor(request), **form.cleaned_data)
            messages.success(request, "The comment is added.")
            return _to(version, side)
    return _page(
        request, version.engagement, side, version=version, comment=form, status=UNPROCESSABLE
    )


@require_POST
def approve(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Approve the checked benchmark that was shown; the second approval seals it."""
    version = _version(request, reference, number)
    form = ApproveForm(request.POST)
    if not form.is_valid():
        raise Http404("No such benchmark.")
    try:
        benchmark.approve(version=version, digest=form.cleaned_data["digest"], by=actor(request))
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return _page(request, version.engagement, side, version=version, status=UNPROCESSABLE)
    sealed = version.seals.exists()
    messages.success(request, "Approved and sealed." if sealed else "Approved for your side.")
    return _to(version, side)


@require_safe
def archive(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Download the archive of a version as it was uploaded."""
    version = _version(request, reference, number)
    try:
        content = benchmark.archive_of(version)
    except APPLICATION_ERRORS as error:
        raise Http404(str(error)) from error
    return _download(content, version.name, "application/octet-stream")


@require_safe
def document(request: HttpRequest, reference: str, number: int, side: Side) -> HttpResponse:
    """Download the checked benchmark, for `twofold run` elsewhere."""
    version = _version(request, reference, number)
    checked = benchmark.passed_check(version)
    if checked is None or checked.checked is None:
        raise Http404("This version has not passed its check.")
    name = f"{reference}-benchmark-{version.number}.json"
    return _download(bytes(checked.checked), name, "application/json")


@require_safe
def template(
    request: HttpRequest, reference: str, number: int, language: str, side: Side
) -> HttpResponse:
    """Download a candidate for a checked version that runs as it is."""
    checked = benchmark.passed_check(_version(request, reference, number))
    if checked is None:
        raise Http404("This version has not passed its check.")
    return template_response(checked.benchmark, language)


@require_safe
def starter(request: HttpRequest, reference: str, kind: str, side: Side) -> HttpResponse:
    """Download a benchmark folder that passes its check, to begin with."""
    _engagement(request, reference)
    if kind not in reading.STARTERS:
        raise Http404("No such starter.")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted((STARTERS / kind).rglob("*")):
            if file.suffix in (".py", ".toml"):
                packed.write(file, file.relative_to(STARTERS / kind).as_posix())
    return _download(made.getvalue(), f"benchmark-{kind}.zip", "application/zip")


@require_safe
def draft(request: HttpRequest, reference: str, pk: int, side: Side) -> HttpResponse:
    """Download benchmark.toml of the newest version with the workloads of a traffic log."""
    engagement = _engagement(request, reference)
    try:
        text = drafts.description_of(engagement, pk)
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return _page(request, engagement, side, status=UNPROCESSABLE)
    return _download(text.encode(), "benchmark.toml", "application/toml")


def _download(content: bytes, name: str, kind: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{_plain(name)}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and letter not in '"\\' else "_" for letter in name)


def _engagement(request: HttpRequest, reference: str) -> Engagement:
    return access.engagement_for(request.user, reference)


def _version(request: HttpRequest, reference: str, number: int) -> BenchmarkVersion:
    return access.benchmark_version_for(request.user, reference, number)


def _to(version: BenchmarkVersion, side: Side) -> HttpResponse:
    page = reverse(reading.ROUTES[side], args=[version.engagement.reference])
    return redirect(f"{page}?version={version.number}")


def _page(
    request: HttpRequest,
    engagement: Engagement,
    side: Side,
    *,
    version: BenchmarkVersion | None = None,
    status: int = 200,
    **forms: Any,
) -> HttpResponse:
    if version is None and (wanted := request.GET.get("version", "")):
        if not wanted.isdecimal():
            raise Http404("No such version.")
        version = _version(request, engagement.reference, int(wanted))
    context = reading.page_context(
        engagement,
        side,
        by=actor(request),
        version=version,
        against=request.GET.get("against", ""),
        forms=forms,
    )
    return render(request, f"benchmark/{side.value}.html", context, status=status)
