"""The customer's page of evidence: upload files, answer the questions of the audit."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.common.uploads import takes_files
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from engagements.evidence import services as evidence
from engagements.evidence.forms import FORMS, AnswerForm, FilesForm
from engagements.evidence.models import Answer, Evidence
from engagements.evidence.rows import QuestionRow
from engagements.evidence.views import keep
from engagements.page_access import portal_page

LARGEST_UPLOAD_BYTES = 2**30


@portal_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the files and the questions of an engagement."""
    return _page(request, access.engagement_for(request.user, reference))


@takes_files(up_to_bytes=LARGEST_UPLOAD_BYTES, of=access.is_member)
@portal_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Store uploaded files; a worker reads them."""
    engagement = access.engagement_for(request.user, reference)
    form = FilesForm(request.POST, request.FILES)
    if keep(request, engagement, form):
        return redirect("portal-evidence", reference)
    return _page(request, engagement, files=form, status=UNPROCESSABLE)


@portal_page
@require_POST
def answer(request: HttpRequest, reference: str, question: str) -> HttpResponse:
    """Answer one question, in the name of the user and as of today."""
    engagement = access.engagement_for(request.user, reference)
    if question not in FORMS:
        raise Http404("No such question.")
    form = _own(FORMS[question](request.POST, prefix=question))
    if form.is_valid():
        by = actor(request)
        with errors_shown(request, form):
            questionnaire.record(
                engagement=engagement,
                question=question,
                value=form.cleaned_data["value"],
                note=form.cleaned_data["note"],
                answered_by=str(by),
                answered_on=timezone.localdate(),
                by=by,
            )
            messages.success(request, "Answer saved.")
            return redirect(f"{reverse('portal-evidence', args=[reference])}#question-{question}")
    return _page(request, engagement, bound=form, status=UNPROCESSABLE)


@portal_page
@require_POST
def withdraw(request: HttpRequest, reference: str, pk: int) -> HttpResponse:
    """Withdraw a file that the user added."""
    engagement = access.engagement_for(request.user, reference)
    row = get_object_or_404(Evidence, engagement=engagement, pk=pk)
    with errors_shown(request):
        evidence.withdraw(evidence=row, reason=f"Withdrawn by {actor(request)}.", by=actor(request))
        messages.success(request, f"{row.name} is withdrawn and its content deleted.")
    return redirect("portal-evidence", reference)


def _own(form: AnswerForm) -> AnswerForm:
    """The form without author and day: the user answers today."""
    del form.fields["answered_by"], form.fields["answered_on"]
    return form


def _page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    files: FilesForm | None = None,
    bound: AnswerForm | None = None,
    status: int = 200,
) -> HttpResponse:
    answers = questionnaire.newest(engagement)
    questions = [
        QuestionRow(
            question=question,
            label=str(Answer.Question(question).label),
            answer=answers.get(question),
            form=bound
            if bound is not None and bound.question == question
            else _own(_filled(form, answers.get(question))),
        )
        for question, form in FORMS.items()
    ]
    context = {
        "engagement": engagement,
        "files": evidence.of_workload(engagement).select_related("added_by"),
        "questions": questions,
        "open_count": sum(row.answer is None for row in questions),
        "bound": bound.question if bound else "",
        "may_add": not access.is_staff_member(request.user) and engagement.stage in evidence.STAGES,
        "form": files or FilesForm(),
    }
    return render(request, "evidence/portal.html", context, status=status)


def _filled(form: type[AnswerForm], answer: Answer | None) -> AnswerForm:
    """The form of a question, filled in with its answer."""
    initial = {**form.initial_of(answer.value), "note": answer.note} if answer else {}
    return form(prefix=form.question, initial=initial)
