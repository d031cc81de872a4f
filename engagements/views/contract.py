"""The contract: drafted, sealed and offered, accepted for the consultancy, withdrawn."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.services import benchmarks
from engagements import access, fresh_sign_in
from engagements.access import consultant_page
from engagements.forms.contract import AcceptForm, SealBenchmarkForm
from engagements.forms.engagement import ReasonForm
from engagements.models import Audit, ContractVersion, Engagement, Party, Stage
from engagements.origin import current_address
from engagements.queries.overview import Standing, standing_of
from engagements.queries.signatories import named_to_accept
from engagements.services import contracts
from engagements.views import amendments, previews, readings
from engagements.views import draft as drafts
from engagements.views.answers import REFUSALS, UNPROCESSABLE, actor, may_act, refuse
from engagements.views.draft import Draft
from engagements.views.numbers import whole
from engagements.views.previews import Preview

WHY_WITHDRAWN = "Why it is withdrawn"


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """The newest version, or `?version=2`; its draft as a form."""
    return _page(request, access.engagement_for(request.user, reference))


@consultant_page
@require_POST
def terms(request: HttpRequest, reference: str) -> HttpResponse:
    """Save the draft, or (`do`) only add, remove and sum up milestones or show the document that
    it would make, and save nothing."""
    engagement = access.engagement_for(request.user, reference)
    setting = drafts.setting_of(_audit(engagement), _opened(engagement))
    act = request.POST.get("do", "save")
    if act == "preview":
        return _preview(request, engagement, drafts.typed(request.POST, setting))
    if act == "sum":
        draft = drafts.reshaped(request.POST, setting, act)
        return render(request, "engagements/_terms_sum.html", {"draft": draft})
    if act != "save":
        reshaped = drafts.reshaped(request.POST, setting, act)
        return _page(request, engagement, draft=reshaped, read=_read(request))
    draft = drafts.typed(request.POST, setting)
    if draft.is_valid():
        try:
            saved = _save(engagement, draft, request)
        except REFUSALS as refused:
            refuse(request, refused, draft.terms)
            # What is refused because of somebody else's changes was said: sent again, it counts.
            return _page(request, engagement, draft=draft, status=UNPROCESSABLE)
        else:
            messages.success(request, f"Version {saved.number} is saved as a draft.")
            return redirect("engagement-contract", reference)
    return _page(request, engagement, draft=draft, read=_read(request), status=UNPROCESSABLE)


def _read(request: HttpRequest) -> str | None:
    """The digest of the draft that the form was opened on; None where it carries none."""
    return request.POST.get("read")


def _preview(request: HttpRequest, engagement: Engagement, draft: Draft) -> HttpResponse:
    preview = Preview()
    if draft.is_valid():
        preview = previews.of_draft(engagement, draft, by=actor(request))
    if request.headers.get("HX-Request"):
        return render(request, "engagements/_contract_preview.html", {"preview": preview})
    return _page(request, engagement, draft=draft, preview=preview, read=_read(request))


def _opened(engagement: Engagement) -> ContractVersion | None:
    return engagement.contracts.filter(state=ContractVersion.State.DRAFT).first()


def _save(engagement: Engagement, draft: Draft, request: HttpRequest) -> ContractVersion:
    user, values, opened = actor(request), draft.values, _opened(engagement)
    if opened is not None:
        return contracts.revise(contract=opened, **values, by=user, read=_read(request))
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
        contracts.offer(contract=contract, by=actor(request), read=_read(request))
    except REFUSALS as refused:
        refuse(request, refused)
        return _page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"Version {contract.number} is sealed and offered.")
    return redirect("engagement-contract", reference)


@consultant_page
@require_POST
def discard(request: HttpRequest, reference: str) -> HttpResponse:
    """Throw the open draft away."""
    engagement = access.engagement_for(request.user, reference)
    contract = _newest(engagement)
    try:
        contracts.discard(contract=contract, by=actor(request), read=_read(request))
    except REFUSALS as refused:
        refuse(request, refused)
        return _page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"The draft of version {contract.number} is discarded.")
    return redirect("engagement-contract", reference)


@consultant_page
@require_POST
def accept(request: HttpRequest, reference: str) -> HttpResponse:
    """Accept, for the consultancy, exactly the terms that were shown, after a fresh sign-in."""
    engagement = access.engagement_for(request.user, reference)
    fresh_sign_in.require_fresh_sign_in(request)
    form = AcceptForm(request.POST)
    if form.is_valid():
        try:
            contracts.accept(
                contract=_newest(engagement),
                party=Party.CONSULTANCY,
                **form.cleaned_data,
                by=actor(request),
                address=current_address(),
                signed_in_at=fresh_sign_in.signed_in_at(request),
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
    contract = _meant(engagement, request.POST.get("version", ""))
    form = ReasonForm(request.POST, label=WHY_WITHDRAWN)
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


def _meant(engagement: Engagement, number: str) -> ContractVersion:
    """The version that the page showed, by its number; the newest where it named none."""
    named = whole(number)
    meant = None if named is None else engagement.contracts.filter(number=named).first()
    return meant or _newest(engagement)


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
    preview: Preview | None = None,
    sealing: SealBenchmarkForm | None = None,
    accepting: AcceptForm | None = None,
    withdrawing: ReasonForm | None = None,
    read: str | None = None,
    status: int = 200,
) -> HttpResponse:
    standing = standing_of(engagement)
    opened = standing.open_version
    contract = _wanted(standing, request.GET.get("version", ""))
    acts = may_act(request)
    may_draft = acts and standing.engagement.stage == Stage.AUDITED
    context = {
        "engagement": standing.engagement,
        "standing": standing,
        "contract": contract,
        "draft": (draft or _draft(standing)) if may_draft else None,
        "preview": preview,
        "sealing": sealing or SealBenchmarkForm(),
        "accepting": accepting
        or AcceptForm(initial={"digest": contract.digest if contract else ""}),
        "withdrawing": withdrawing or ReasonForm(label=WHY_WITHDRAWN),
        "read": _digest_of_draft(opened) if read is None else read,
        "named": named_to_accept(contract) if contract else None,
        "may_act": acts,
        "may_amend": acts and amendments.may_draft(standing),
        **_may(contract, acts=acts, stage=Stage(standing.engagement.stage)),
    }
    if contract is not None and not context["draft"]:
        context |= readings.of(standing, contract, against=request.GET.get("against", ""))
    return render(request, "engagements/contract.html", context, status=status)


def _digest_of_draft(opened: ContractVersion | None) -> str:
    if opened is None or opened.state != ContractVersion.State.DRAFT:
        return ""
    return contracts.digest_of_draft(opened)


def _may(contract: ContractVersion | None, *, acts: bool, stage: Stage) -> dict[str, bool]:
    """What may be done with this version, and whether the customer has accepted it."""
    nothing = {"may_offer": False, "may_accept": False, "may_withdraw": False}
    if contract is None:
        return nothing
    accepted = {acceptance.party for acceptance in contract.acceptances.all()}
    said = {"customer_accepted": Party.CUSTOMER in accepted}
    if not acts:
        return nothing | said
    is_draft = contract.state == ContractVersion.State.DRAFT
    is_offered = contract.state == ContractVersion.State.OFFERED
    return said | {
        "may_offer": is_draft
        and stage == (Stage.ACTIVE if contract.is_amendment else Stage.AUDITED),
        "may_accept": is_offered and Party.CONSULTANCY not in accepted,
        "may_withdraw": is_offered,
    }


def _wanted(standing: Standing, number: str) -> ContractVersion | None:
    """The version asked for; else the open one, on which there is something to do."""
    if not number:
        return standing.open_version or standing.contract
    found: Any = next((row for row in standing.versions if str(row.number) == number), None)
    if found is None:
        raise Http404("No such version.")
    return ContractVersion.objects.select_related("engagement", "benchmark").get(pk=found.pk)


def _draft(standing: Standing) -> Draft:
    """The open draft, else the last version as a start, else a blank one."""
    assert standing.audit is not None  # an audited engagement has one
    if standing.versions:
        version = standing.open_version or standing.versions[0]
        return drafts.stored(version, standing.audit)
    return drafts.blank(standing.audit)
