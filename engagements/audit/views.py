"""The audit page: start it, record and override findings, deliver it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor, may_act
from engagements.audit import contract_basis, overrides
from engagements.audit import findings as computing
from engagements.audit import rules as checks
from engagements.audit import services as audits
from engagements.audit.forms import FindingForm, OverrideForm, StartAuditForm
from engagements.audit.models import Audit, Finding, FindingOutcome
from engagements.audit.queries import AuditSummary
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import consultant_page


@dataclass(frozen=True)
class CheckRow:
    """One check on the page: its finding, and the forms that change it."""

    check: checks.Check
    finding: Finding
    form: FindingForm
    overriding: OverrideForm

    @property
    def is_answered(self) -> bool:
        """Whether the check has a finding; Unknown is one."""
        return self.finding.found_at is not None

    @cached_property
    def computed(self) -> checks.Finding | None:
        """The finding from evidence; None without one."""
        return self.finding.computed_finding

    @property
    def is_open(self) -> bool:
        """Whether a finding may be recorded; computed outcomes are overridden instead."""
        return self.computed is None or self.computed.outcome == checks.Outcome.UNKNOWN

    @property
    def effective_label(self) -> str:
        """The label of the effective outcome."""
        return str(FindingOutcome(self.finding.effective_outcome).label)

    @property
    def meaning(self) -> str:
        """The computed sentence, or the meaning of the effective outcome."""
        if self.computed is not None and not self.finding.is_by_hand:
            return self.computed.sentence
        return self.check.consultant.of(self.finding.effective_outcome)


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the audit page."""
    return audit_page(request, access.engagement_for(request.user, reference))


@consultant_page
@require_POST
def start(request: HttpRequest, reference: str) -> HttpResponse:
    """Start the audit at its price."""
    engagement = access.engagement_for(request.user, reference)
    form = StartAuditForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            audits.start(engagement=engagement, **form.cleaned_data, by=actor(request))
            return redirect("engagement-audit", reference)
    return audit_page(request, engagement, starting=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def record(request: HttpRequest, reference: str, check: str) -> HttpResponse:
    """Record the finding of one check."""
    engagement, audit, description = _fetched(request, reference, check)
    form = FindingForm(request.POST, check=description)
    if form.is_valid():
        with errors_shown(request, form):
            audits.record_finding(audit=audit, check=check, **form.cleaned_data, by=actor(request))
            return _finding_page(request, engagement, check)
    return _finding_page(request, engagement, check, form=form)


@consultant_page
@require_POST
def override(request: HttpRequest, reference: str, check: str) -> HttpResponse:
    """Propose to override the outcome of a finding."""
    engagement, audit, description = _fetched(request, reference, check)
    finding = audit.findings.get(check_name=check)
    form = OverrideForm(request.POST, check=description, found=finding.outcome)
    if form.is_valid():
        with errors_shown(request, form):
            overrides.propose(finding=finding, **form.cleaned_data, by=actor(request))
            return _finding_page(request, engagement, check)
    return _finding_page(request, engagement, check, overriding=form)


@consultant_page
@require_POST
def decide_override(request: HttpRequest, reference: str, check: str) -> HttpResponse:
    """Confirm the proposed override of a finding, or withdraw it."""
    engagement, audit, _ = _fetched(request, reference, check)
    finding, by = audit.findings.get(check_name=check), actor(request)
    try:
        if request.POST.get("decision") == "withdraw":
            overrides.withdraw(finding=finding, by=by)
        else:
            expected = request.POST.get("expected", "")
            overrides.confirm(finding=finding, by=by, expected=expected)
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return audit_page(request, engagement, status=UNPROCESSABLE)
    return _finding_page(request, engagement, check)


@consultant_page
@require_POST
def deliver(request: HttpRequest, reference: str) -> HttpResponse:
    """Compute the outcome and deliver the audit."""
    engagement = access.engagement_for(request.user, reference)
    try:
        delivered = audits.deliver(
            audit=_audit(engagement),
            by=actor(request),
            expected_outcomes=request.POST.get("expected_outcomes"),
        )
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        # Evidence may have been read since: the page shows the newest findings.
        computing.compute_when_due(engagement=engagement)
        return audit_page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"The audit is delivered. {delivered.get_outcome_display()}.")
    return redirect("engagement", reference)


def _fetched(
    request: HttpRequest, reference: str, check: str
) -> tuple[Engagement, Audit, checks.Check]:
    engagement = access.engagement_for(request.user, reference)
    try:
        description = checks.check(check)
    except ValueError as error:
        raise Http404("No such check.") from error
    return engagement, _audit(engagement), description


def _audit(engagement: Engagement) -> Audit:
    audit = Audit.objects.filter(engagement=engagement).first()
    if audit is None:
        raise Http404("The audit is not started.")
    return audit


def _finding_page(
    request: HttpRequest, engagement: Engagement, check: str, **bound: Any
) -> HttpResponse:
    """Render the check for htmx, else the page; 422 when a form is `bound` to an error."""
    if not request.headers.get("HX-Request"):
        if bound:
            return audit_page(request, engagement, check=check, status=UNPROCESSABLE, **bound)
        url = reverse("engagement-audit", args=[engagement.reference])
        return redirect(f"{url}#check-{check}")
    context = _context(request, engagement, check=check, **bound)
    context["row"] = next(row for row in context["rows"] if row.check.name == check)
    status = UNPROCESSABLE if bound else 200
    return render(request, "audit/_swapped.html", context, status=status)


def audit_page(
    request: HttpRequest, engagement: Engagement, *, status: int = 200, **bound: Any
) -> HttpResponse:
    """Render the audit's page; `bound` are forms with errors."""
    context = _context(request, engagement, **bound)
    return render(request, "audit/audit.html", context, status=status)


def _context(
    request: HttpRequest,
    engagement: Engagement,
    *,
    starting: StartAuditForm | None = None,
    check: str = "",
    form: FindingForm | None = None,
    overriding: OverrideForm | None = None,
) -> dict[str, Any]:
    summary = AuditSummary(engagement)
    bound = {check: (form, overriding)}
    described = zip(checks.CHECKS, summary.findings, strict=True) if summary.audit else ()
    rows = [
        _row(description, finding, *bound.get(finding.check_name, (None, None)))
        for description, finding in described
    ]
    currency = engagement.customer.currency
    acts = may_act(request)
    opened = engagement.contracts.filter(state__in=("draft", "offered"))
    may_draft = acts and engagement.stage == Stage.AUDITED and not opened.exists()
    return {
        "engagement": engagement,
        "summary": summary,
        "audit": summary.audit,
        "rows": rows,
        "tally": summary.tally,
        "expected_outcomes": audits.outcomes_of(summary.findings),
        "starting": starting or StartAuditForm(initial={"currency": currency}),
        "may_act": acts,
        "may_start": acts and engagement.stage == Stage.SCOPING,
        "may_answer": acts and engagement.stage == Stage.AUDITING,
        "may_draft": may_draft,
        "blocking_reason": contract_basis.blocking_reason(summary.audit)
        if may_draft and summary.audit
        else None,
    }


def _row(
    check: checks.Check,
    finding: Finding,
    form: FindingForm | None,
    overriding: OverrideForm | None,
) -> CheckRow:
    known = {"value": finding.value, "rationale": finding.rationale}
    if finding.found_at is not None:
        known["outcome"] = finding.outcome
    return CheckRow(
        check=check,
        finding=finding,
        form=form or FindingForm(initial=known, check=check),
        overriding=overriding or OverrideForm(check=check, found=finding.outcome),
    )
