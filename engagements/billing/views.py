"""The page of milestones to bill: draft invoices, issue drafts, waive audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.audit.queries import unbilled_audits
from engagements.billing import invoices
from engagements.billing import queries as billing
from engagements.billing.forms import WaiveForm
from engagements.billing.milestones import MilestoneLine
from engagements.billing.models import Invoice
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.common.pages import UNPROCESSABLE
from engagements.common.tables import amounts, as_csv
from engagements.contracts.milestones.models import Milestone
from engagements.orders.models import AuditOrder
from engagements.orders.services import live_order
from engagements.page_access import finance_page
from engagements.people.models import User

PER_PAGE = 25
COLUMNS = (
    *("Engagement", "Customer", "Milestone", "Released by", "Released on"),
    *("Currency", "Net", "Tax", "Gross"),
)


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
def to_bill(request: HttpRequest) -> HttpResponse:
    """Undrafted milestones by engagement, and drafts. POST drafts the selected milestones.

    `format=csv` downloads the undrafted milestones.
    """
    if request.method == "POST":
        drafted = _collect(request, actor(request))
        if len(drafted) == 1:
            return redirect("invoice", pk=drafted[0].pk)
        if drafted:
            messages.success(request, f"{len(drafted)} drafts created. Review and issue each.")
            return redirect("to-bill")
    found = billing.engagements_to_bill()
    if request.GET.get("format") == "csv":
        lines = (_cells(line) for each in billing.to_bill(found) for line in each.lines)
        return as_csv("to-bill", COLUMNS, lines)
    listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    drafts, audits = billing.drafts(), unbilled_audits()
    context = {
        "listed": listed,
        "groups": billing.to_bill(listed),
        "drafts": [(row, invoices.preview(invoice=row)) for row in drafts[:PER_PAGE]],
        "further_drafts": max(drafts.count() - PER_PAGE, 0),
        "audits": [_AuditRow.of(row) for row in audits[:PER_PAGE]],
        "further_audits": max(len(audits) - PER_PAGE, 0),
        "can_edit": access.is_finance(request.user),
    }
    status = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "billing/to_bill.html", context, status=status)


@dataclass(frozen=True)
class _AuditRow:
    """An unbilled audit, the form that waives it, and its accepted order."""

    audit: Audit
    waive: WaiveForm
    order: AuditOrder | None
    is_drafted: bool

    @classmethod
    def of(cls, audit: Audit) -> _AuditRow:
        order = live_order(audit.engagement)
        is_accepted = order is not None and order.state == AuditOrder.State.ACCEPTED
        if order is None or not is_accepted or invoices.billed_on(order):
            order = None
        drafts = order.invoices.filter(state=Invoice.State.DRAFT).exists() if order else False
        return cls(audit, WaiveForm(auto_id=f"id_{audit.pk}_%s"), order, drafts)


@finance_page
@require_POST
def bill_order(request: HttpRequest, reference: str) -> HttpResponse:
    """Draft the invoice of an accepted audit order."""
    order = live_order(access.engagement_for(request.user, reference))
    if order is None:
        raise Http404("No audit order.")
    try:
        invoice = invoices.draft_order(order=order, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
        return redirect("to-bill")
    return redirect("invoice", pk=invoice.pk)


@finance_page
@require_POST
def waive_audit(request: HttpRequest, reference: str) -> HttpResponse:
    """Waive the fee of an audit without a contract."""
    audit = get_object_or_404(Audit, engagement=access.engagement_for(request.user, reference))
    try:
        audits.waive(audit=audit, reason=request.POST.get("reason", ""), by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"The audit fee of {reference} is waived.")
    return redirect("to-bill")


def _cells(line: MilestoneLine) -> tuple[Any, ...]:
    milestone = line.milestone
    engagement = milestone.contract_version.engagement
    released = milestone.released_at
    return (
        *(engagement.reference, engagement.customer.name, milestone.title),
        *(milestone.get_condition_display(), released and released.date(), line.currency),
        *amounts(line.currency, line.net, line.tax, line.gross),
    )


def _collect(request: HttpRequest, by: User) -> list[Invoice]:
    """Draft one invoice per engagement from the selected milestones."""
    chosen = wholes(request.POST.getlist("milestone"))
    found = Milestone.objects.filter(
        pk__in=chosen, contract_version__engagement__in=access.engagements_for(by)
    ).select_related("contract_version")
    by_engagement: dict[int, list[Milestone]] = {}
    for milestone in found.order_by("pk"):
        by_engagement.setdefault(milestone.contract_version.engagement_id, []).append(milestone)
    if not by_engagement:
        messages.error(request, "Choose at least one milestone.")
    drafted = []
    for milestones in by_engagement.values():
        try:
            drafted.append(invoices.draft(milestones=milestones, by=by))
        except ApplicationError as error:
            messages.error(request, str(error))
    return drafted


@finance_page
@require_POST
def issue_drafts(request: HttpRequest) -> HttpResponse:
    """Issue the selected drafts, each by itself."""
    by, issued = actor(request), []
    chosen = wholes(request.POST.getlist("draft"))
    for row in Invoice.objects.filter(
        pk__in=chosen, engagement__in=access.engagements_for(by)
    ).order_by("drafted_at", "pk"):
        try:
            version = request.POST.get(f"version-{row.pk}")
            issued.append(invoices.issue(invoice=row, by=by, expected_version=version))
        except ApplicationError as error:
            messages.error(request, f"Draft for {row.engagement.reference}: {error}")
    if not chosen:
        messages.error(request, "Choose at least one draft.")
    if issued:
        names = ", ".join(row.reference for row in issued)
        messages.success(request, f"Issued: {names}.")
    return redirect("to-bill")
