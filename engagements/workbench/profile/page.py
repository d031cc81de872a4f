"""The workbench's page, and its fragments that reload while files are read."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements import access
from engagements.access import may_act
from engagements.audit import report_views
from engagements.audit import rules as checks
from engagements.audit.audit_inputs import subject_of
from engagements.audit.findings import is_due
from engagements.audit.models import Audit
from engagements.audit.report.sections import sections_of
from engagements.audit.rules import thresholds as lines
from engagements.audit.rules.subject import Subject
from engagements.audit.rules.suggestions import suggest
from engagements.engagement.models import Engagement, Stage
from engagements.evidence import services as evidence
from engagements.evidence.forms import FilesForm
from engagements.page_access import consultant_page
from engagements.workbench.profile import pictures
from engagements.workbench.profile.bench import Bench, bench_of
from engagements.workbench.profile.forms import FORMS, initial_of

STOP_POLLING = 286


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the whole workbench; `?profile=` and `?against=` choose the profiles."""
    engagement = access.engagement_for(request.user, reference)
    context = context_of(request, engagement)
    return render(request, "workbench/profile.html", context)


@consultant_page
@require_safe
def live(request: HttpRequest, reference: str) -> HttpResponse:
    """The files while they are read and looked at; after, the whole bench and no more polling."""
    engagement = access.engagement_for(request.user, reference)
    context = context_of(request, engagement)
    is_waiting = context["is_waiting"]
    name = "files" if is_waiting else "bench"
    response = render(request, f"workbench/profile/_{name}.html", context)
    response["Cache-Control"] = "no-store"
    if not is_waiting:
        response.status_code = STOP_POLLING
        response["HX-Retarget"] = "#bench"
    return response


def context_of(
    request: HttpRequest,
    engagement: Engagement,
    *,
    bound: dict[str, forms.Form] | None = None,
) -> dict[str, Any]:
    """Everything that the bench shows; `bound` are forms that were sent and refused."""
    audit = Audit.objects.filter(engagement=engagement).first()
    subject = subject_of(audit) if audit else Subject()
    bench = bench_of(engagement, (request.POST or request.GET).dict(), subject=subject)
    acts = may_act(request)
    return {
        "engagement": engagement,
        "bench": bench,
        # A separate task computes with a newly read file a moment later.
        "is_waiting": bench.evidence.is_reading or _is_due(engagement, audit),
        "pictures": {name: pictures.figure(bench, name) for name in pictures.PICTURES},
        "timeline": pictures.timeline_data(bench),
        "files": FilesForm(),
        "may_act": acts,
        "may_add": acts and engagement.stage in evidence.STAGES,
        "may_set": acts and audit is not None and engagement.stage == Stage.AUDITING,
        "audit": audit,
        "subject": subject,
        "suggestions": suggest(bench.trace.facts) if bench.trace else (),
        "forms": _forms(subject, audit, bench, bound or {}),
        "thresholds": [
            (lines.label_of(name), lines.shown(name, value))
            for name, value in (audit.thresholds if audit else {}).items()
        ],
        **(_found(audit) if audit else {}),
    }


def _is_due(engagement: Engagement, audit: Audit | None) -> bool:
    return audit is not None and engagement.stage == Stage.AUDITING and is_due(audit)


def _forms(
    subject: Subject, audit: Audit | None, bench: Bench, bound: dict[str, forms.Form]
) -> dict[str, forms.Form]:
    trace = bench.audited.facts if bench.audited else None
    initial = initial_of(subject, audit.thresholds if audit else {}, trace)
    return {
        name: bound.get(name) or form(prefix=name, initial=initial[name])
        for name, form in FORMS.items()
    }


def _found(audit: Audit) -> dict[str, Any]:
    sections = sections_of(audit)
    return {
        "sections": sections,
        "tally": checks.tally([section.row for section in sections]),
        "verdict": audit.computed_verdict,
        "figures": report_views.charts_of(audit, sections),
    }
