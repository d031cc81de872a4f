"""The handover on the contract's page of the workbench."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.common.pages import errors_shown
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones.forms import HandOverForm
from engagements.contracts.milestones.warranty import warranty_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import consultant_page


@consultant_page
@require_POST
def hand_over(request: HttpRequest, reference: str) -> HttpResponse:
    """Hand over the deliverables; the customer accepts them or states a defect."""
    engagement = access.engagement_for(request.user, reference)
    form = HandOverForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Enter the day as in 2026-12-31.")
        return redirect("engagement-contract", reference)
    with errors_shown(request):
        handovers.hand_over(
            engagement=engagement, by=actor(request), last_day=form.cleaned_data["last_day"]
        )
        messages.success(request, "The handover is recorded and the signatories are mailed.")
    return redirect("engagement-contract", reference)


def handover_context(engagement: Engagement, contract: ContractVersion | None) -> dict[str, Any]:
    """The handover of a met contract, for its page, or its warranty; empty before."""
    if contract is None or engagement.stage not in (Stage.MET, Stage.CLOSED):
        return {}
    warranty = warranty_of(engagement, contract)
    if warranty is not None or engagement.stage == Stage.CLOSED:
        return {"warranty": warranty}
    first = handovers.first_last_day()
    return {
        "has_handover": True,
        "delivered": handovers.handover_of(engagement),
        "handover_form": HandOverForm(initial={"last_day": first}),
    }
