"""The evidence page: upload files, watch them being read, record answers."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Solution
from engagements import access
from engagements.access import actor, may_act
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.common.uploads import takes_files
from engagements.engagement.forms import ReasonForm
from engagements.engagement.models import Engagement
from engagements.evidence import candidates as assigning
from engagements.evidence import questionnaire
from engagements.evidence import services as evidence
from engagements.evidence.candidates import candidates_of
from engagements.evidence.forms import FORMS, AnswerForm, CandidateForm, FilesForm, StaffFilesForm
from engagements.evidence.models import Answer, Evidence
from engagements.evidence.rows import EvidenceRow, QuestionRow
from engagements.page_access import consultant_page
from engagements.people import api_tokens, reauthentication
from engagements.people.token_models import Scope

STOP_POLLING = 286


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The files and the answers of an engagement."""
    return _page(request, access.engagement_for(request.user, reference))


@takes_files(up_to_bytes=evidence.LARGEST_FILE_BYTES, of=access.is_consultant)
@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Store uploaded files; a worker reads them."""
    engagement = access.engagement_for(request.user, reference)
    candidates = candidates_of(engagement)
    form = StaffFilesForm(request.POST, request.FILES, candidates=candidates)
    if keep(request, engagement, form):
        return redirect("engagement-evidence", reference)
    return _page(request, engagement, files=form, status=UNPROCESSABLE)


def keep(
    request: HttpRequest,
    engagement: Engagement,
    form: FilesForm,
    *,
    candidate: Solution | None = None,
) -> bool:
    """Store every file of a form; False with errors in the form.

    The files profile `candidate`, else the candidate that the form names, if any.
    """
    if not form.is_valid():
        return False
    candidate = candidate or form.cleaned_data.get("candidate")
    known = set(evidence.live(engagement).values_list("pk", flat=True))
    try:
        rows = [
            evidence.add(
                engagement=engagement,
                name=file.name,
                content=file,
                by=actor(request),
                candidate=candidate,
            )
            for file in form.cleaned_data["chosen"]
        ]
    except APPLICATION_ERRORS as error:
        show_error(request, error, form)
        return False
    if any(row.pk not in known for row in rows):
        messages.success(request, "Files added. Their facts appear once they are read.")
    for name in form.left_out():
        messages.warning(request, f"{name} is empty and was skipped.")
    for row in rows:
        if row.pk in known:
            messages.info(request, f"{row.name} was already added.")
    return True


@consultant_page
@require_POST
@reauthentication.with_reauthentication
def token(request: HttpRequest, reference: str) -> HttpResponse:
    """Create a token for evidence, shown once. Requires a fresh sign-in, as it outlives the
    session."""
    engagement = access.engagement_for(request.user, reference)
    by = actor(request)
    try:
        _, value = api_tokens.create(
            owner=by, name=f"Evidence of {reference}", scopes=[Scope.EVIDENCE], by=by
        )
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return redirect("engagement-evidence", reference)
    response = _page(request, engagement, token=value)
    response["Cache-Control"] = "no-store"
    return response


@consultant_page
@require_safe
def live(request: HttpRequest, reference: str) -> HttpResponse:
    """Render the list of files; stop polling once all are read."""
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
    """Download a file. It is never shown in the browser."""
    row = _row(request, reference, pk)
    try:
        opened = evidence.open_file(row)
    except OSError as error:
        raise Http404(
            "This file is missing from storage. Ask the consultancy to restore it."
        ) from error
    response = FileResponse(
        opened, as_attachment=True, filename=row.name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


@consultant_page
@require_POST
def again(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Read a file again."""
    with errors_shown(request):
        evidence.read_again(evidence=_row(request, reference, pk), by=actor(request))
    return redirect("engagement-evidence", reference)


@consultant_page
@require_POST
def assign(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Name the candidate that a file profiles, or the customer's workload."""
    row = _row(request, reference, pk)
    form = CandidateForm(request.POST, candidates=candidates_of(row.engagement))
    if form.is_valid():
        with errors_shown(request):
            candidate = form.cleaned_data["candidate"]
            assigning.assign(evidence=row, candidate=candidate, by=actor(request))
    else:
        messages.error(request, "Choose a candidate of a run of this engagement.")
    return redirect("engagement-evidence", reference)


@consultant_page
@require_POST
def withdraw(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Withdraw a file, with a reason."""
    row, form = _row(request, reference, pk), ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was withdrawn. Enter a reason.")
        return redirect("engagement-evidence", reference)
    with errors_shown(request):
        evidence.withdraw(evidence=row, reason=form.cleaned_data["reason"], by=actor(request))
        messages.success(request, f"{row.name} is withdrawn and its content deleted.")
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
        with errors_shown(request, form):
            questionnaire.record(
                engagement=engagement,
                question=question,
                by=actor(request),
                **{name: form.cleaned_data[name] for name in fields},
            )
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
    context = {
        "engagement": engagement,
        "may_act": may_act(request),
        "may_add": may_act(request) and engagement.stage in evidence.STAGES,
        "form": files or StaffFilesForm(candidates=candidates_of(engagement)),
        "withdrawing": ReasonForm(label="Reason for the withdrawal", auto_id=False),
        "questions": _questions(engagement, bound),
        "bound": bound.question if bound else "",
        "token": token,
        "token_days": api_tokens.DEFAULT_DAYS,
        "api_url": request.build_absolute_uri(reverse("api-evidence-list")),
        **_files(engagement),
    }
    return render(request, "evidence/evidence.html", context, status=status)


def _files(engagement: Engagement) -> dict[str, Any]:
    files = evidence.live(engagement).select_related("added_by", "candidate")
    rows = [EvidenceRow(row, evidence.facts_of(row)) for row in files]
    return {
        "rows": rows,
        "candidates": list(candidates_of(engagement).only("name")),
        "is_reading": any(not row.file.is_concluded for row in rows),
        "withdrawn": Evidence.objects.filter(
            engagement=engagement, state=Evidence.State.WITHDRAWN
        ).select_related("withdrawn_by"),
    }


def _questions(engagement: Engagement, bound: AnswerForm | None) -> list[QuestionRow]:
    answers = questionnaire.newest(engagement)
    return [
        QuestionRow(
            question=question,
            label=str(Answer.Question(question).label),
            answer=answers.get(question),
            form=bound
            if bound and bound.question == question
            else _form(form, answers.get(question)),
        )
        for question, form in FORMS.items()
    ]


def _form(form: type[AnswerForm], answer: Answer | None) -> AnswerForm:
    """Return the form of a question, filled in with its answer."""
    initial = {**form.initial_of(answer.value), "note": answer.note} if answer else {}
    return form(prefix=form.question, initial=initial)
