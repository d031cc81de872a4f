"""The contract: drafted, sealed and offered, accepted for the consultancy, withdrawn."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.services import benchmarks
from engagements import access
from engagements.access import actor, consultant_page, may_act
from engagements.audit.models import Audit
from engagements.common.client_ip import current_address
from engagements.common.integers import whole
from engagements.common.pages import REFUSALS, UNPROCESSABLE, refuse
from engagements.contracts import acceptances, amendment_views, offers, previews, readings
from engagements.contracts import draft_views as drafts
from engagements.contracts import services as contracts
from engagements.contracts.draft_views import Draft
from engagements.contracts.forms import AcceptForm, SealBenchmarkForm
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.previews import Preview
from engagements.contracts.signatories import named_to_accept
from engagements.contracts.summary import ContractSummary, contract_summary_of
from engagements.engagement.forms import ReasonForm
from engagements.engagement.models import Engagement, Stage
from engagements.people import fresh_sign_in

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
        return render(request, "contracts/_terms_sum.html", {"draft": draft})
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
        return render(request, "contracts/_preview.html", {"preview": preview})
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
        offers.offer(contract=contract, by=actor(request), read=_read(request))
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
            acceptances.accept(
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
            offers.withdraw(contract=contract, **form.cleaned_data, by=actor(request))
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
    summary = contract_summary_of(engagement)
    opened = summary.open_version
    contract = _wanted(summary, request.GET.get("version", ""))
    acts = may_act(request)
    may_draft = acts and summary.engagement.stage == Stage.AUDITED
    context = {
        "engagement": summary.engagement,
        "summary": summary,
        "contract": contract,
        "draft": (draft or _draft(summary)) if may_draft else None,
        "preview": preview,
        "sealing": sealing or SealBenchmarkForm(),
        "accepting": accepting
        or AcceptForm(initial={"digest": contract.digest if contract else ""}),
        "withdrawing": withdrawing or ReasonForm(label=WHY_WITHDRAWN),
        "read": _digest_of_draft(opened) if read is None else read,
        "named": named_to_accept(contract) if contract else None,
        "may_act": acts,
        "may_amend": acts and amendment_views.may_draft(summary),
        **_may(contract, acts=acts, stage=Stage(summary.engagement.stage)),
    }
    if contract is not None and not context["draft"]:
        context |= readings.of(summary, contract, against=request.GET.get("against", ""))
    return render(request, "contracts/contract.html", context, status=status)


def _digest_of_draft(opened: ContractVersion | None) -> str:
    if opened is None or opened.state != ContractVersion.State.DRAFT:
        return ""
    return offers.digest_of_draft(opened)


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


def _wanted(summary: ContractSummary, number: str) -> ContractVersion | None:
    """The version asked for; else the open one, on which there is something to do."""
    if not number:
        return summary.open_version or summary.contract
    found: Any = next((row for row in summary.versions if str(row.number) == number), None)
    if found is None:
        raise Http404("No such version.")
    return ContractVersion.objects.select_related("engagement", "benchmark").get(pk=found.pk)


def _draft(summary: ContractSummary) -> Draft:
    """The open draft, else the last version as a start, else a blank one."""
    assert summary.audit is not None  # an audited engagement has one
    if summary.versions:
        version = summary.open_version or summary.versions[0]
        return drafts.stored(version, summary.audit)
    return drafts.blank(summary.audit)
