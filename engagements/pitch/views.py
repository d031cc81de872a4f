"""The public pitch check: the six checks on a vendor's pitch. Nothing is stored.

The link holds the complete input: the typed numbers, and the signed facts of an uploaded file.
Anyone with the link sees the same answer.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from engagements.audit.rules.verdict import examine
from engagements.common import rate_limits
from engagements.common.client_ip import current_address
from engagements.common.pages import UNPROCESSABLE
from engagements.common.rate_limits import Busy, Rate, RateLimited
from engagements.common.uploads import takes_files
from engagements.evidence.readers import EvidenceError
from engagements.pitch import files as pitch_files
from engagements.pitch import links
from engagements.pitch.answers import Answer
from engagements.pitch.forms import PitchFileForm, PitchForm
from engagements.pitch.rules import inputs_of

CHECKS = Rate("pitch", most=30, window_s=60)
FILES = Rate("pitch-file", most=6, window_s=600)

_EMPTY = ValidationError("Enter at least one number, or choose a file.", code="pitch.empty")
_LINK_DAMAGED = ValidationError(
    "The link is damaged. Ask its sender for it again, or upload the file.",
    code="pitch.link_damaged",
)
_FORM_MODIFIED = ValidationError(
    "The form was modified in transit. Upload the file again.", code="pitch.form_modified"
)
_TOO_LONG = ValidationError(
    "The link would be too long. Enter fewer shapes or libraries.", code="pitch.link_too_long"
)

Pairs = list[tuple[str, str]]


@takes_files(up_to_bytes=pitch_files.LARGEST_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Render the form or the answer of a link; redirect a submitted pitch to its link."""
    try:
        if request.method == "POST":
            response = _sent(request)
        elif PitchForm(request.GET).query():
            response = _asked(request)
        else:
            response = render(request, "pitch/pitch.html", _context(PitchForm()))
            response["Cache-Control"] = "private, no-cache"
            return response
    except RateLimited as error:
        response = _wait(request, error)
    # Confidential numbers: neither cached nor indexed.
    response["Cache-Control"] = "private, no-store"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


def _asked(request: HttpRequest) -> HttpResponse:
    rate_limits.count(CHECKS, current_address())
    form = PitchForm(request.GET)
    if form.is_valid():
        try:
            read = links.read_of(form.cleaned_data["read"])
        except BadSignature:
            form.add_error(None, _LINK_DAMAGED)
        else:
            verdict = examine(inputs_of(form.pitch(), read, today=timezone.localdate()))
            pairs = form.query()
            answer = Answer(verdict, read, pairs, request.build_absolute_uri(_address(pairs)))
            context = {
                "answer": answer,
                "doubts": form.doubts(),
                "house_email": settings.CONSULTANCY["email"],
            }
            return render(request, "pitch/pitch.html", _context(form) | context)
    return _wrong(request, form)


def _sent(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    rate_limits.count(FILES if file else CHECKS, current_address())
    form, files = PitchForm(request.POST), PitchFileForm(request.POST, request.FILES)
    if not file and not form.query():
        form.add_error(None, _EMPTY)
    if form.is_valid() and files.is_valid():
        pairs = form.query()
        try:
            if isinstance(file, UploadedFile):
                pairs = _with(file, pairs, form.cleaned_data["read"])
        except EvidenceError as error:
            files.add_error("file", ValidationError(f"{error.message}.", code=error.code))
        except BadSignature:
            form.add_error(None, _FORM_MODIFIED)
        else:
            if len(_address(pairs)) <= links.LONGEST:
                return HttpResponseRedirect(_address(pairs), status=303)
            form.add_error(None, _TOO_LONG)
    return _wrong(request, form, files)


def _with(file: UploadedFile, pairs: Pairs, before: str) -> Pairs:
    """Add the facts of this file to the typed fields and earlier files' facts."""
    others = links.read_of(before)
    with rate_limits.slot(
        "pitch-file", most=pitch_files.AT_ONCE, at_most_s=pitch_files.LONGEST_S + 15
    ):
        found = pitch_files.read(file)
    typed = [pair for pair in pairs if pair[0] != "read"]
    room = links.LONGEST - len(_address(typed))
    read = [each for each in others if each.facts.format != found.facts.format] + [found]
    return [*typed, ("read", links.signed(read, room))]


def _wrong(
    request: HttpRequest, form: PitchForm, files: PitchFileForm | None = None
) -> HttpResponse:
    return render(request, "pitch/pitch.html", _context(form, files), status=UNPROCESSABLE)


def _wait(request: HttpRequest, refused: RateLimited) -> HttpResponse:
    is_busy = isinstance(refused, Busy)
    context = {"is_busy": is_busy, "retry_after": refused.wait_text}
    response = render(request, "429.html", context, status=503 if is_busy else 429)
    response["Retry-After"] = str(refused.retry_after_s)
    return response


def _context(form: PitchForm, files: PitchFileForm | None = None) -> dict[str, object]:
    return {"form": form, "files": files or PitchFileForm()}


def _address(pairs: Pairs) -> str:
    return f"{reverse('pitch')}?{urlencode(pairs)}"
