"""The contract: drafted, sealed and offered, accepted for the consultancy, withdrawn."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.services import benchmarks
from engagements import access
from engagements.access import consultant_page
from engagements.forms.contract import AcceptForm, SealBenchmarkForm
from engagements.forms.engagement import ReasonForm
from engagements.models import Audit, ContractVersion, Engagement, Party, Stage
from engagements.origin import current_address
from engagements.queries.overview import Standing, standing_of
from engagements.services import contracts
from engagements.views import draft as drafts
from engagements.views.answers import REFUSALS, UNPROCESSABLE, actor, may_act, refuse
from engagements.views.draft import Draft

WHY_WITHDRAWN = "Why it is withdrawn"


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The newest version, or `?version=2`; its draft as a form."""
    return _page(request, access.engagement_for(request.user, reference))


@consultant_page
@require_POST
def terms(request: HttpRequest, reference: str) -> HttpResponse:
    """Save the draft, or only add, remove and sum up milestones (`do`) and save nothing."""
    engagement = access.engagement_for(request.user, reference)
    audit, act = _audit(engagement), request.POST.get("do", "save")
    if act == "sum":
        draft = drafts.reshaped(request.POST, audit.currency, act)
        return render(request, "engagements/_terms_sum.html", {"draft": draft})
    if act != "save":
        draft = drafts.reshaped(request.POST, audit.currency, act)
        return _page(request, engagement, draft=draft)
    draft = drafts.typed(request.POST, audit.currency)
    if draft.is_valid():
        try:
            saved = _save(engagement, draft, request)
        except REFUSALS as refused:
            refuse(request, refused, draft.terms)
        else:
            messages.success(request, f"Version {saved.number} is saved as a draft.")
            return redirect("engagement-contract", reference)
    return _page(request, engagement, draft=draft, status=UNPROCESSABLE)


def _save(engagement: Engagement, draft: Draft, request: HttpRequest) -> ContractVersion:
    user, values = actor(request), draft.values
    opened = engagement.contracts.filter(state=ContractVersion.State.DRAFT).first()
    if opened is not None:
        return contracts.revise(contract=opened, **values, by=user)
    return contracts.draft(engagement=engagement, **values, by=user)


@consultant_page
@require_POST
def seal_benchmark(request: HttpRequest, reference: str) -> HttpResponse:
    """Seal a benchmark of the catalogue, so that the contract can name it."""
    engagement = access.engagement_for(request.user, reference)
    form = SealBenchmarkForm(request.POST)
    if form.is_valid():
        try:
            sealed = benchmarks.seal(document=form.document)
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            messages.success(request, f"{sealed.name} is sealed: choose it in the terms.")
            return redirect("engagement-contract", reference)
    return _page(request, engagement, sealing=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def offer(request: HttpRequest, reference: str) -> HttpResponse:
    """Seal the draft and offer it."""
    engagement = access.engagement_for(request.user, reference)
    contract = _newest(engagement)
    try:
        contracts.offer(contract=contract, by=actor(request))
    except REFUSALS as refused:
        refuse(request, refused)
        return _page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"Version {contract.number} is sealed and offered.")
    return redirect("engagement-contract", reference)


@consultant_page
@require_POST
def accept(request: HttpRequest, reference: str) -> HttpResponse:
    """Accept, for the consultancy, exactly the terms that were shown."""
    engagement = access.engagement_for(request.user, reference)
    form = AcceptForm(request.POST)
    if form.is_valid():
        try:
            contracts.accept(
                contract=_newest(engagement),
                party=Party.CONSULTANCY,
                **form.cleaned_data,
                by=actor(request),
                address=current_address(),
            )
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            messages.success(request, "Accepted for the consultancy.")
            return redirect("engagement-contract", reference)
    return _page(request, engagement, accepting=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def withdraw(request: HttpRequest, reference: str) -> HttpResponse:
    """Take the offer back, with the reason."""
    engagement = access.engagement_for(request.user, reference)
    contract, form = _newest(engagement), ReasonForm(request.POST, label=WHY_WITHDRAWN)
    if form.is_valid():
        try:
            contracts.withdraw(contract=contract, **form.cleaned_data, by=actor(request))
        except REFUSALS as refused:
            refuse(request, refused, form)
        else:
            messages.success(request, f"Version {contract.number} is withdrawn.")
            return redirect("engagement-contract", reference)
    return _page(request, engagement, withdrawing=form, status=UNPROCESSABLE)


def _newest(engagement: Engagement) -> ContractVersion:
    contract = engagement.contracts.order_by("-number").first()
    if contract is None:
        raise Http404("No contract is drafted.")
    return contract


def _audit(engagement: Engagement) -> Audit:
    audit = Audit.objects.filter(engagement=engagement).first()
    if audit is None:
        raise Http404("There is no audit yet, and so no contract.")
    return audit


def _page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    draft: Draft | None = None,
    sealing: SealBenchmarkForm | None = None,
    accepting: AcceptForm | None = None,
    withdrawing: ReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    standing = standing_of(engagement)
    contract = _wanted(standing, request.GET.get("version", ""))
    acts = may_act(request)
    may_draft = acts and engagement_may_draft(standing)
    is_sealed = contract is not None and contract.is_sealed
    context = {
        "engagement": standing.engagement,
        "standing": standing,
        "contract": contract,
        "terms": contracts.terms_of(contract) if contract and is_sealed else None,
        "draft": (draft or _draft(standing)) if may_draft else None,
        "sealing": sealing or SealBenchmarkForm(),
        "accepting": accepting
        or AcceptForm(initial={"digest": contract.digest if contract else ""}),
        "withdrawing": withdrawing or ReasonForm(label=WHY_WITHDRAWN),
        "may_act": acts,
        "may_offer": may_draft and contract is not None and not is_sealed,
        "may_accept": acts and _may_accept(standing, contract),
        "may_withdraw": acts and contract is not None and contract.state == "offered",
    }
    return render(request, "engagements/contract.html", context, status=status)


def engagement_may_draft(standing: Standing) -> bool:
    """Whether the terms may be written: after the audit, and nothing on offer."""
    return standing.engagement.stage == Stage.AUDITED


def _wanted(standing: Standing, number: str) -> ContractVersion | None:
    if not number:
        return standing.contract
    found: Any = next((row for row in standing.versions if str(row.number) == number), None)
    if found is None:
        raise Http404("No such version.")
    return ContractVersion.objects.select_related("engagement", "benchmark").get(pk=found.pk)


def _may_accept(standing: Standing, contract: ContractVersion | None) -> bool:
    offered = contract is not None and contract.state == ContractVersion.State.OFFERED
    return offered and not standing.has_accepted(Party.CONSULTANCY)


def _draft(standing: Standing) -> Draft:
    """The open draft, else the last version as a start, else a blank one."""
    if standing.versions:
        return drafts.stored(standing.open_version or standing.versions[0])
    assert standing.audit is not None  # an audited engagement has one
    return drafts.blank(standing.audit)
