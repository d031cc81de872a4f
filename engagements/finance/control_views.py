"""The page of controls, for an auditor."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engagements.event_log.models import FinanceEvent
from engagements.finance import controls, steps
from engagements.page_access import finance_page
from engagements.people.approval_models import SoleApproval, SoleOwner


@finance_page
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show each control: the permitted people, the rule that enforces it, and its test."""
    context = {
        "capabilities": controls.capabilities(),
        "principles": controls.PRINCIPLES,
        "controls": controls.CONTROLS,
        "steps": steps.STEPS,
        "sole_owner": SoleOwner.objects.select_related("user").first(),
        "alone": SoleApproval.objects.select_related("by")[:100],
        "events": FinanceEvent.objects.select_related("actor").order_by("-position")[:100],
    }
    return render(request, "finance/controls.html", context)
