"""Disputing a settlement: the customer says what is wrong with it, and it is on hold."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.engagement.models import Engagement
from engagements.settlements import disputes
from engagements.settlements.forms import DisputeForm
from engagements.settlements.models import Settlement
from engagements.settlements.queries import settlement_of

FORBIDDEN = 403


@access.portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def dispute(request: HttpRequest, reference: str) -> HttpResponse:
    """What a dispute means and until when it may be raised; posted, it is raised."""
    engagement = access.engagement_for(request.user, reference)
    settlement = settlement_of(engagement)
    if settlement is None:
        raise Http404("No settlement.")
    form = DisputeForm(request.POST or None)
    if request.method == "POST":
        if not access.may_sign(request.user, engagement.customer):
            return _page(request, engagement, settlement, form, status=FORBIDDEN)
        if form.is_valid():
            try:
                disputes.raise_dispute(
                    settlement=settlement, reason=form.cleaned_data["reason"], by=actor(request)
                )
            except ApplicationError as refused:
                form.add_error(None, str(refused))
            else:
                messages.success(request, "Your objection is noted. The settlement is on hold.")
                return redirect("portal-engagement", reference=reference)
        return _page(request, engagement, settlement, form, status=UNPROCESSABLE)
    return _page(request, engagement, settlement, form)


def _page(
    request: HttpRequest,
    engagement: Engagement,
    settlement: Settlement,
    form: DisputeForm,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "engagement": engagement,
        "settlement": settlement,
        "disputes": settlement.disputes.all(),
        "obstacle": disputes.obstacle(settlement),
        "form": form,
        "can_sign": access.may_sign(request.user, engagement.customer),
    }
    return render(request, "settlements/dispute.html", context, status=status)
