"""The portal page on which a customer ends a contract for cause."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access, closing
from engagements.access import actor
from engagements.common.client_ip import current_address
from engagements.common.errors import ApplicationError
from engagements.common.pages import UNPROCESSABLE
from engagements.contracts import versions
from engagements.page_access import portal_page
from engagements.people import reauthentication
from engagements.runs import attempts
from engagements.settlements.calculation import preview

FORBIDDEN = 403


class EndForCauseForm(forms.Form):
    """End the contract for cause."""

    agreed = forms.BooleanField(
        label="We end this contract for cause. This cannot be undone.",
        error_messages={"required": "Tick the box to end the contract."},
    )


@portal_page
@require_http_methods(["GET", "HEAD", "POST"])
def end_for_cause(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the consequences of an end for cause; POST ends it after a fresh sign-in."""
    engagement = access.engagement_for(request.user, reference)
    contract = versions.contract_in_force(engagement)
    if contract is None:
        raise Http404("No contract in force.")
    contract.engagement = engagement
    form = EndForCauseForm(request.POST or None)
    can_sign, status = access.may_sign(request.user, engagement.customer), 200
    if request.method == "POST":
        status = UNPROCESSABLE if can_sign else FORBIDDEN
        if can_sign:
            reauthentication.require_reauthentication(request)
        if can_sign and form.is_valid():
            try:
                closing.end_for_cause(
                    engagement=engagement, by=actor(request), address=current_address()
                )
            except ApplicationError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "The contract is ended. We prepare the settlement.")
                return redirect("portal-engagement", reference=reference)
    context = {
        "engagement": engagement,
        "disqualified": attempts.disqualifications(engagement),
        "blocking_error": closing.cause_error(engagement),
        "calculation": preview(contract=contract),
        "form": form,
        "can_sign": can_sign,
    }
    return render(request, "portal/end_for_cause.html", context, status=status)
