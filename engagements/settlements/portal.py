"""The portal page on which a customer disputes a settlement."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.page_access import portal_page
from engagements.settlements import disputes
from engagements.settlements.forms import DisputeForm
from engagements.settlements.queries import settlement_of

FORBIDDEN = 403


@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def dispute(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the settlement's disputes; POST raises one."""
    engagement = access.engagement_for(request.user, reference)
    settlement = settlement_of(engagement)
    if settlement is None:
        raise Http404("No settlement.")
    form = DisputeForm(request.POST or None)
    can_sign, status = access.may_sign(request.user, engagement.customer), 200
    if request.method == "POST":
        status = UNPROCESSABLE if can_sign else FORBIDDEN
        if can_sign and form.is_valid():
            try:
                disputes.raise_dispute(
                    settlement=settlement, reason=form.cleaned_data["reason"], by=actor(request)
                )
            except ApplicationError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "Dispute raised. The settlement is on hold.")
                return redirect("portal-engagement", reference=reference)
    context = {
        "engagement": engagement,
        "settlement": settlement,
        "disputes": settlement.disputes.all(),
        "blocking_error": disputes.blocking_error(settlement),
        "form": form,
        "can_sign": can_sign,
    }
    return render(request, "settlements/dispute.html", context, status=status)


@portal_page
@require_POST
def withdraw(request: HttpRequest, reference: str) -> HttpResponse:
    """Withdraw the open dispute, which ends the hold."""
    engagement = access.engagement_for(request.user, reference)
    settlement = settlement_of(engagement)
    if settlement is None:
        raise Http404("No settlement.")
    try:
        disputes.withdraw(settlement=settlement, by=actor(request))
    except ApplicationError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Dispute withdrawn. The settlement continues.")
    return redirect("portal-dispute", reference=reference)
