"""Pages of a draft: start it from the audit, edit, preview, discard."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engagements import access
from engagements.access import actor
from engagements.audit.models import Audit
from engagements.audit.views import audit_page
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, show_error
from engagements.contracts import draft_forms, first_drafts
from engagements.contracts import services as contracts
from engagements.contracts.draft_forms import DraftForms
from engagements.contracts.models import ContractVersion
from engagements.contracts.readings import Preview, preview_of
from engagements.contracts.views import contract_page, expected_digest, newest_version
from engagements.engagement.models import Engagement
from engagements.page_access import consultant_page


@consultant_page
@require_POST
def draft_from_audit(request: HttpRequest, reference: str) -> HttpResponse:
    """Draft the contract from its delivered audit."""
    engagement = access.engagement_for(request.user, reference)
    try:
        version = first_drafts.from_audit(engagement=engagement, by=actor(request))
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return audit_page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"Version {version.number} is drafted from the audit.")
    return redirect("engagement-contract", reference)


@consultant_page
@require_POST
def terms(request: HttpRequest, reference: str) -> HttpResponse:
    """Save the draft; or by `do`, only add or remove a milestone, add up, or preview."""
    engagement = access.engagement_for(request.user, reference)
    audit = Audit.objects.filter(engagement=engagement).select_related("engagement").first()
    if audit is None:
        raise Http404("A contract needs an audit.")
    act = request.POST.get("do", "save")
    if act not in ("save", "preview"):
        reshaped = draft_forms.reshaped(request.POST, audit, act)
        if act == "sum":
            return render(request, "contracts/_terms_sum.html", {"draft": reshaped})
        return contract_page(
            request, engagement, draft=reshaped, expected_version=expected_digest(request)
        )
    draft = draft_forms.submitted(request.POST, audit)
    if act == "preview":
        return _preview(request, engagement, draft)
    if draft.is_valid():
        try:
            saved = _save(engagement, draft, request)
        except APPLICATION_ERRORS as error:
            show_error(request, error, draft.terms)
            # The page now shows the changed version, so that sending it again saves over it.
            return contract_page(request, engagement, draft=draft, status=UNPROCESSABLE)
        messages.success(request, f"Version {saved.number} is saved as a draft.")
        return redirect("engagement-contract", reference)
    return contract_page(
        request,
        engagement,
        draft=draft,
        expected_version=expected_digest(request),
        status=UNPROCESSABLE,
    )


def _preview(request: HttpRequest, engagement: Engagement, draft: DraftForms) -> HttpResponse:
    preview = Preview()
    if draft.is_valid():
        by = actor(request)
        preview = preview_of(
            partial(contracts.preview, engagement=engagement, by=by, **draft.values)
        )
    if request.headers.get("HX-Request"):
        return render(request, "contracts/_preview.html", {"preview": preview})
    return contract_page(
        request, engagement, draft=draft, preview=preview, expected_version=expected_digest(request)
    )


def _opened(engagement: Engagement) -> ContractVersion | None:
    return engagement.contracts.filter(state=ContractVersion.State.DRAFT).first()


def _save(engagement: Engagement, draft: DraftForms, request: HttpRequest) -> ContractVersion:
    user, values, opened = actor(request), draft.values, _opened(engagement)
    if opened is None:
        return contracts.draft(engagement=engagement, **values, by=user)
    return contracts.revise(
        contract=opened, **values, by=user, expected_version=expected_digest(request)
    )


@consultant_page
@require_POST
def discard(request: HttpRequest, reference: str) -> HttpResponse:
    """Discard the open draft."""
    engagement = access.engagement_for(request.user, reference)
    contract = newest_version(engagement)
    try:
        contracts.discard(
            contract=contract, by=actor(request), expected_version=expected_digest(request)
        )
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return contract_page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"The draft of version {contract.number} is discarded.")
    return redirect("engagement-contract", reference)
