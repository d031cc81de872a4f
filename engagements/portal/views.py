"""The customer's engagements: the list, one engagement, and accepting the handover."""

from __future__ import annotations

from decimal import Decimal
from functools import cache, partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.benchmark.services import STAGES as BENCHMARK_STAGES
from engagements.common.client_ip import current_address
from engagements.common.errors import ApplicationError
from engagements.common.pages import errors_shown
from engagements.contracts import signatories
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones import services as milestones
from engagements.contracts.milestones.forms import AcceptHandoverForm, ContestHandoverForm
from engagements.contracts.milestones.warranty import warranty_of
from engagements.contracts.time_box.waiting import paused_from
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import portal_page
from engagements.people import reauthentication
from engagements.portal.labels import FINDING_LABELS, OUTCOME_SENTENCE, STAGE_LABELS
from engagements.portal.money import milestone_row, settlement_text
from engagements.portal.queries import PortalEngagement, portal_engagement, portal_engagements
from engagements.portal.status import headline, next_step, steps
from engagements.portal.turns import customers_turn_first
from engagements.runs.measured import measured_words, run_row

PER_PAGE = 20


def _page(engagement: Engagement) -> PortalEngagement:
    return portal_engagement(engagement, today=timezone.localdate())


def _can_sign(request: HttpRequest, page: PortalEngagement, *, is_signatory: bool) -> bool:
    """Whether this user, a signatory or not, may sign the pending offer, else the handover."""
    if page.offered is not None:
        return signatories.may_accept(request.user, page.offered)
    return is_signatory


@portal_page
@require_safe
def engagement_list(request: HttpRequest) -> HttpResponse:
    """List the customer's engagements with their next steps, the customer's turn first."""
    rows = []
    found = customers_turn_first(access.engagements_for(request.user))
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    signs = cache(partial(access.may_sign, request.user))
    for page in portal_engagements(list(listed), today=timezone.localdate()):
        rows.append(
            {
                "engagement": page.engagement,
                "page": page,
                "stage": STAGE_LABELS[page.engagement.stage],
                "headline": headline(page),
                "next": next_step(
                    page,
                    can_sign=_can_sign(request, page, is_signatory=signs(page.engagement.customer)),
                ),
            }
        )
    return render(request, "portal/engagement_list.html", {"rows": rows, "listed": listed})


@portal_page
@require_safe
def engagement_page(request: HttpRequest, reference: str) -> HttpResponse:
    """Show one engagement: status, next step, audit, milestones, runs and documents."""
    engagement = access.engagement_for(request.user, reference)
    page = _page(engagement)
    can_sign = access.may_sign(request.user, engagement.customer)
    may_bring = engagement.stage in BENCHMARK_STAGES
    context = {
        "page": page,
        "engagement": engagement,
        "stage": STAGE_LABELS[engagement.stage],
        "headline": headline(page),
        "next": next_step(page, can_sign=_can_sign(request, page, is_signatory=can_sign)),
        "steps": steps(page),
        "can_sign": can_sign,
        "checks": [(line, line.check.reason, FINDING_LABELS[line.outcome]) for line in page.checks],
        "outcome": OUTCOME_SENTENCE[page.audit.outcome] if page.audit else "",
        "milestones": [milestone_row(line) for line in page.milestones],
        "contract_total": sum((line.gross for line in page.milestones), Decimal(0)),
        "contract_paid": sum((line.paid for line in page.milestones), Decimal(0)),
        "warranty": warranty_of(engagement, page.contract) if page.is_handed_over else None,
        "audit_order": engagement.audit_orders.first(),
        "settlement_text": settlement_text(page.settlement) if page.settlement else None,
        "measured": measured_words(page.measured) if page.measured else None,
        "runs": [run_row(run) for run in page.runs],
        "may_bring_benchmark": may_bring,
        "shows_benchmark": may_bring or engagement.benchmark_versions.exists(),
        "requests": [
            (row, paused_from(row))
            for row in engagement.cooperation_requests.all()
            if row.provided_on is None and engagement.stage == Stage.ACTIVE
        ],
    }
    return render(request, "portal/engagement.html", context)


@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def handover(request: HttpRequest, reference: str) -> HttpResponse:
    """Accept the handover after a fresh sign-in, which makes a part of the fee due."""
    engagement = access.engagement_for(request.user, reference)
    form = AcceptHandoverForm(request.POST or None)
    if request.method == "POST":
        if not access.may_sign(request.user, engagement.customer):
            return _handover_page(request, engagement, form, status=403)
        reauthentication.require_reauthentication(request)
        if form.is_valid():
            try:
                milestones.accept_handover(
                    engagement=engagement, by=actor(request), address=current_address()
                )
            except ApplicationError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "The handover is accepted.")
                return redirect("portal-engagement", reference=reference)
        return _handover_page(request, engagement, form, status=422)
    return _handover_page(request, engagement, form)


@portal_page
@require_POST
def contest_handover(request: HttpRequest, reference: str) -> HttpResponse:
    """State a defect of the handover."""
    engagement = access.engagement_for(request.user, reference)
    form, accept_form = ContestHandoverForm(request.POST), AcceptHandoverForm()
    if not access.may_sign(request.user, engagement.customer):
        return _handover_page(request, engagement, accept_form, status=403)
    if form.is_valid():
        with errors_shown(request, form):
            handovers.contest(
                engagement=engagement,
                defect=form.cleaned_data["defect"],
                by=actor(request),
                address=current_address(),
            )
            messages.success(request, "The defect is stated. The consultancy hands over again.")
            return redirect("portal-handover", reference=reference)
    return _handover_page(request, engagement, accept_form, contest_form=form, status=422)


def _handover_page(
    request: HttpRequest,
    engagement: Engagement,
    form: AcceptHandoverForm,
    *,
    contest_form: ContestHandoverForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page = _page(engagement)
    context = {
        "page": page,
        "engagement": engagement,
        "form": form,
        "contest_form": contest_form or ContestHandoverForm(),
        "delivered": handovers.handover_of(engagement),
        "can_sign": access.may_sign(request.user, engagement.customer),
        "measured": measured_words(page.measured) if page.measured else None,
    }
    return render(request, "contracts/handover.html", context, status=status)
