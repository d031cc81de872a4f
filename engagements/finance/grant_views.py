"""The page on which finance confirms new people of finance."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.errors import ApplicationError
from engagements.common.integers import wholes
from engagements.finance import grants
from engagements.page_access import finance_page
from engagements.people import reauthentication
from engagements.people.approval_models import FinanceGrant


@finance_page
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication.with_reauthentication
def finance_people(request: HttpRequest) -> HttpResponse:
    """List proposed people of finance; POST confirms the one in `grant`."""
    if request.method == "POST":
        [key, *_] = [*wholes(request.POST.getlist("grant")), 0]
        grant = get_object_or_404(FinanceGrant, pk=key)
        try:
            grant = grants.confirm(grant=grant, by=actor(request))
        except ApplicationError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _outcome(grant))
        return redirect("finance-people")
    waiting = [
        (grant, grants.needs_another(grant, by=actor(request))) for grant in grants.open_grants()
    ]
    context = {"grants": waiting, "acts": access.is_finance(request.user)}
    return render(request, "finance/people.html", context)


def _outcome(grant: FinanceGrant) -> str:
    if grant.granted_by_id is None:
        return f"Confirmed. Another person of finance confirms {grant.user} too."
    return f"{grant.user} now belongs to finance."
