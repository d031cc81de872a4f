"""Page of an amendment: its form and the preview of its document."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engagements import access
from engagements.access import actor
from engagements.common.pages import UNPROCESSABLE, errors_shown
from engagements.contracts import amendments
from engagements.contracts.amendment_forms import AmendmentForm
from engagements.contracts.models import ContractVersion
from engagements.contracts.readings import Preview, preview_of
from engagements.contracts.summary import ContractSummary, contract_summary_of
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import consultant_page


def may_draft(summary: ContractSummary) -> bool:
    """Whether the contract is in force and no other version is open."""
    return summary.engagement.stage == Stage.ACTIVE and summary.open_version is None


@consultant_page
@require_http_methods(["GET", "POST"])
def amend(request: HttpRequest, reference: str) -> HttpResponse:
    """Show and save the form; with `do=preview`, only show the document."""
    engagement = access.engagement_for(request.user, reference)
    summary = contract_summary_of(engagement)
    contract = summary.in_force
    if contract is None or not may_draft(summary):
        messages.error(request, "Only a contract in force can be amended, one version at a time.")
        return redirect("engagement-contract", reference)
    if request.method == "GET":
        return _page(request, contract, AmendmentForm(contract=contract))
    form = AmendmentForm(request.POST, contract=contract)
    if request.POST.get("do") == "preview":
        return _preview(request, engagement, contract, form)
    if form.is_valid():
        with errors_shown(request, form):
            drafted = amendments.draft(
                engagement=engagement, **_values(form), **form.to, by=actor(request)
            )
            messages.success(
                request, f"Version {drafted.number} is drafted. Seal and offer it next."
            )
            return redirect("engagement-contract", reference)
    return _page(request, contract, form, status=UNPROCESSABLE)


def _values(form: AmendmentForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in ("change", "reason", "valid_until")}


def _preview(
    request: HttpRequest, engagement: Engagement, contract: ContractVersion, form: AmendmentForm
) -> HttpResponse:
    preview = Preview()
    if form.is_valid():
        compose = partial(
            amendments.preview,
            engagement=engagement,
            by=actor(request),
            **_values(form),
            **form.to,
        )
        preview = preview_of(compose, amended=contract)
    if request.headers.get("HX-Request"):
        return render(request, "contracts/_preview.html", {"preview": preview})
    return _page(request, contract, form, preview=preview)


def _page(
    request: HttpRequest,
    contract: ContractVersion,
    form: AmendmentForm,
    *,
    preview: Preview | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "engagement": contract.engagement,
        "contract": contract,
        "form": form,
        "preview": preview,
    }
    return render(request, "contracts/amendment.html", context, status=status)
