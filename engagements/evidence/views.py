"""Evidence: files sent and watched while they are read, answers recorded beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor, consultant_page, may_act
from engagements.common.pages import REFUSALS, UNPROCESSABLE, refuse
from engagements.common.uploads import takes_files
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from engagements.evidence import services as evidence
from engagements.evidence.answer_text import in_words
from engagements.evidence.forms import FORMS, AnswerForm, FilesForm
from engagements.evidence.models import Answer, Evidence
from engagements.evidence.readers import ComputeFacts, Facts, TraceFacts
from engagements.people import api_tokens, reauthentication

STOP_POLLING = 286
LISTED = 8


@dataclass(frozen=True)
class Entry:
    """One file on the page, with what was read from it."""

    row: Evidence
    facts: Facts | None

    @property
    def percent(self) -> str:
        """How much was read, as a bar wants it."""
        return f"{self.row.read_share * 100:.0f}"

    @property
    def kernels(self) -> list[Any]:
        """The first kernels of a profile."""
        return list(getattr(self.facts, "kernels", ()))[:LISTED]

    @property
    def kind(self) -> str:
        """Which fragment shows the facts."""
        if isinstance(self.facts, TraceFacts):
            return "trace"
        return "compute" if isinstance(self.facts, ComputeFacts) else "traffic"


@dataclass(frozen=True)
class Asked:
    """One question of the questionnaire: what was answered, and the form that answers it."""

    question: str
    label: str
    answer: Answer | None
    form: AnswerForm

    @property
    def words(self) -> list[str]:
        """The answer in words, a line each."""
        return list(in_words(self.answer.value)) if self.answer else []


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The files and the answers of an engagement."""
    return _page(request, access.engagement_for(request.user, reference))


@takes_files(up_to_bytes=evidence.LARGEST_FILE_BYTES, of=access.is_consultant)
@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Keep the files that were sent; they are read afterwards."""
    engagement = access.engagement_for(request.user, reference)
    form = FilesForm(request.POST, request.FILES)
    if keep(request, engagement, form):
        return redirect("engagement-evidence", reference)
    return _page(request, engagement, files=form, status=UNPROCESSABLE)


def keep(request: HttpRequest, engagement: Engagement, form: FilesForm) -> bool:
    """Keep every file of a form and say so; False when the form says why not."""
    if not form.is_valid():
        return False
    known = set(Evidence.objects.filter(engagement=engagement).values_list("pk", flat=True))
    try:
        rows = [
            evidence.add(engagement=engagement, name=file.name, content=file, by=actor(request))
            for file in form.cleaned_data["chosen"]
        ]
    except REFUSALS as refused:
        refuse(request, refused, form)
        return False
    if any(row.pk not in known for row in rows):
        messages.success(request, "Kept. What the files say appears as they are read.")
    for name in form.left_out():
        messages.warning(request, f"{name} is empty and was left out.")
    for row in rows:
        if row.pk in known:
            messages.info(request, f"{row.name} is among the evidence already.")
    return True


@consultant_page
@require_POST
@reauthentication.with_reauthentication
def token(request: HttpRequest, reference: str) -> HttpResponse:
    """A token for a program that sends evidence: shown once, kept nowhere. It outlives this
    session, so whoever makes one has just proved who they are."""
    engagement = access.engagement_for(request.user, reference)
    response = _page(request, engagement, token=api_tokens.issue(actor(request)))
    response["Cache-Control"] = "no-store"
    return response


@consultant_page
@require_safe
def live(request: HttpRequest, reference: str) -> HttpResponse:
    """The list of files alone; once every file was read, the polling stops."""
    engagement = access.engagement_for(request.user, reference)
    context = {"engagement": engagement, "may_act": may_act(request), **_files(engagement)}
    response = render(request, "evidence/_files.html", context)
    if not context["is_reading"]:
        response.status_code = STOP_POLLING
    response["Cache-Control"] = "no-store"
    return response


@consultant_page
@require_safe
def file(request: HttpRequest, reference: str, pk: int) -> HttpResponseBase:
    """The file as it came, to be saved and never shown: it is a stranger's."""
    row = _row(request, reference, pk)
    try:
        opened = evidence.open_file(row)
    except OSError as error:
        raise Http404("The file is no longer in storage.") from error
    response = FileResponse(
        opened, as_attachment=True, filename=row.name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


@consultant_page
@require_POST
def again(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Have a file read once more."""
    try:
        evidence.read_again(evidence=_row(request, reference, pk), by=actor(request))
    except REFUSALS as refused:
        refuse(request, refused)
    return redirect("engagement-evidence", reference)


@consultant_page
@require_POST
def answer(request: HttpRequest, reference: str, question: str) -> HttpResponse:
    """Record an answer to one question."""
    engagement = access.engagement_for(request.user, reference)
    if question not in FORMS:
        raise Http404("No such question.")
    form = FORMS[question](request.POST, prefix=question)
    if form.is_valid():
        fields = ("value", "answered_by", "answered_on", "note")
        try:
            questionnaire.record(
                engagement=engagement,
                question=question,
                by=actor(request),
                **{name: form.cleaned_data[name] for name in fields},
            )
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            url = reverse("engagement-evidence", args=[reference])
            return redirect(f"{url}#question-{question}")
    return _page(request, engagement, bound=form, status=UNPROCESSABLE)


def _row(request: HttpRequest, reference: str, pk: int) -> Evidence:
    engagement = access.engagement_for(request.user, reference)
    return get_object_or_404(Evidence, engagement=engagement, pk=pk)


def _page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    files: FilesForm | None = None,
    bound: AnswerForm | None = None,
    token: str = "",
    status: int = 200,
) -> HttpResponse:
    address = reverse("api-evidence", args=[engagement.reference])
    context = {
        "engagement": engagement,
        "may_act": may_act(request),
        "may_add": may_act(request) and engagement.stage in evidence.STAGES,
        "form": files or FilesForm(),
        "questions": _questions(engagement, bound),
        "bound": bound.question if bound else "",
        "token": token,
        "token_days": api_tokens.LIFETIME.days,
        "api_url": request.build_absolute_uri(address),
        **_files(engagement),
    }
    return render(request, "evidence/evidence.html", context, status=status)


def _files(engagement: Engagement) -> dict[str, Any]:
    rows = Evidence.objects.filter(engagement=engagement).select_related("added_by")
    entries = [Entry(row, evidence.facts_of(row)) for row in rows]
    return {
        "entries": entries,
        "is_reading": any(not entry.row.is_concluded for entry in entries),
    }


def _questions(engagement: Engagement, bound: AnswerForm | None) -> list[Asked]:
    given = questionnaire.newest(engagement)
    return [
        Asked(
            question=question,
            label=str(Answer.Question(question).label),
            answer=given.get(question),
            form=bound if bound and bound.question == question else form(prefix=question),
        )
        for question, form in FORMS.items()
    ]
