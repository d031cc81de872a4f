"""Actions on the workbench: upload files, choose the operator, change thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.audit import findings, subjects
from engagements.audit.models import Audit
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.common.uploads import takes_files
from engagements.engagement.models import Engagement
from engagements.evidence import services as evidence
from engagements.evidence.forms import FilesForm
from engagements.evidence.services import LARGEST_FILE_BYTES
from engagements.evidence.views import keep
from engagements.page_access import consultant_page
from engagements.people.models import User
from engagements.workbench.profile.bench import bench_of
from engagements.workbench.profile.forms import FORMS
from engagements.workbench.profile.page import context_of

Act = Callable[[Audit, dict[str, Any], User], object]


def _choose_operator(audit: Audit, said: dict[str, Any], by: User) -> object:
    return subjects.choose_operator(
        audit=audit, operator=said["operator"], trace=said["trace"], by=by
    )


def _set_estimates(audit: Audit, said: dict[str, Any], by: User) -> object:
    estimates = {name: said[name] for name in ("share", "kernel_speedup", "end_to_end")}
    return subjects.set_estimates(audit=audit, by=by, **estimates)


ACTS: dict[str, Act] = {
    "operator": _choose_operator,
    "traffic": lambda audit, said, by: subjects.choose_traffic(
        audit=audit, traffic=said["log"] or None, by=by
    ),
    "needs": lambda audit, said, by: subjects.set_needs(audit=audit, needs=said["needs"], by=by),
    "work": lambda audit, said, by: subjects.set_work(audit=audit, work=said["work"], by=by),
    "estimates": _set_estimates,
    "tried": lambda audit, said, by: subjects.record_tried(audit=audit, tried=said["tried"], by=by),
    "thresholds": lambda audit, said, by: subjects.set_thresholds(
        audit=audit, changes=said["changes"], by=by
    ),
}


@takes_files(up_to_bytes=LARGEST_FILE_BYTES, of=access.is_consultant)
@consultant_page
@require_POST
def add(request: HttpRequest, reference: str) -> HttpResponse:
    """Store the dropped files; htmx receives the list of files alone."""
    engagement = access.engagement_for(request.user, reference)
    form = FilesForm(request.POST, request.FILES)
    is_kept = keep(request, engagement, form)
    if is_kept and not request.headers.get("HX-Request"):
        return redirect("engagement-workbench", reference)
    shown = {} if is_kept else {"files": form}
    context = context_of(request, engagement) | shown
    name = "profile/_files" if request.headers.get("HX-Request") else "profile"
    status = 200 if is_kept else UNPROCESSABLE
    return render(request, f"workbench/{name}.html", context, status=status)


@consultant_page
@require_POST
def put(request: HttpRequest, reference: str, what: str) -> HttpResponse:
    """Set one thing about the audit; the findings are computed with it at once."""
    engagement = access.engagement_for(request.user, reference)
    if what not in FORMS:
        raise Http404("No such input.")
    audit = get_object_or_404(Audit, engagement=engagement)
    form = FORMS[what](request.POST, prefix=what)
    if form.is_valid():
        said = form.cleaned_data | {"trace": _trace_of(request, engagement)}
        with errors_shown(request, form):
            ACTS[what](audit, said, actor(request))
            _sum_exactly(request, engagement, said)
            return _back(request, reference)
    return _refused(request, engagement, what, form)


@consultant_page
@require_POST
def forget(request: HttpRequest, reference: str) -> HttpResponse:
    """Remove the answer about a library."""
    engagement = access.engagement_for(request.user, reference)
    audit = get_object_or_404(Audit, engagement=engagement)
    with errors_shown(request):
        subjects.forget_tried(
            audit=audit, library=request.POST.get("library", ""), by=actor(request)
        )
    return _back(request, reference)


@consultant_page
@require_POST
def compute(request: HttpRequest, reference: str) -> HttpResponse:
    """Compute the findings from the present evidence."""
    engagement = access.engagement_for(request.user, reference)
    audit = get_object_or_404(Audit, engagement=engagement)
    with errors_shown(request):
        verdict = findings.compute(audit=audit, by=actor(request))
        messages.success(request, verdict.sentence)
    return _back(request, reference)


def _trace_of(request: HttpRequest, engagement: Engagement) -> str | None:
    """The digest of the profile that was looked at while the operator was chosen."""
    chosen = request.POST.get("profile", "")
    bench = bench_of(engagement, {"profile": chosen})
    if not chosen or bench.trace is None or bench.trace.row.candidate_id is not None:
        return None
    return bench.trace.row.digest


def _sum_exactly(request: HttpRequest, engagement: Engagement, said: dict[str, Any]) -> None:
    """Have the profile read again where a pattern's kernels overlap: a summary only bounds them."""
    operator = said.get("operator")
    trace = bench_of(engagement, request.POST.dict()).trace
    if operator is None or operator.kind != "pattern" or trace is None:
        return
    least, most = trace.facts.share_of_wall(operator.pattern)
    if least < most:
        evidence.read_again(evidence=trace.row, by=actor(request))
        messages.info(request, "Some of these kernels overlap: the profile is read again.")


def _back(request: HttpRequest, reference: str) -> HttpResponse:
    profile = request.POST.get("profile", "")
    query = f"?profile={profile}" if profile.isdecimal() else ""
    address = reverse("engagement-workbench", args=[reference])
    return redirect(f"{address}{query}#findings")


def _refused(
    request: HttpRequest, engagement: Engagement, what: str, form: forms.Form
) -> HttpResponse:
    context = context_of(request, engagement, bound={what: form})
    return render(request, "workbench/profile.html", context, status=UNPROCESSABLE)
