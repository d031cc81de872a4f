"""Pages of the contract: show, seal its benchmark, offer, accept for the consultancy, withdraw."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.services import benchmarks
from engagements import access
from engagements.access import actor, may_act
from engagements.audit.models import Audit
from engagements.common.client_ip import current_address
from engagements.common.integers import whole
from engagements.common.pages import APPLICATION_ERRORS, UNPROCESSABLE, errors_shown, show_error
from engagements.contracts import acceptances, amendment_views, draft_forms, offers
from engagements.contracts.draft_forms import DraftForms
from engagements.contracts.forms import AcceptForm, SealBenchmarkForm
from engagements.contracts.milestones.views import handover_context
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.readings import Preview, version_context
from engagements.contracts.signatories import named_to_accept, waits_for
from engagements.contracts.summary import ContractSummary, contract_summary_of
from engagements.engagement.forms import ReasonForm
from engagements.engagement.models import Engagement, Stage
from engagements.page_access import consultant_page
from engagements.people import reauthentication

WITHDRAWAL_LABEL = "Reason for the withdrawal"


@consultant_page
@require_safe
def show(request: HttpRequest, reference: str) -> HttpResponse:
    """Show the newest version, or `?version=2`; a draft as a form."""
    return contract_page(request, access.engagement_for(request.user, reference))


@consultant_page
@require_POST
def seal_benchmark(request: HttpRequest, reference: str) -> HttpResponse:
    """Seal a benchmark of the catalogue, to be named in the contract."""
    engagement = access.engagement_for(request.user, reference)
    form = SealBenchmarkForm(request.POST, request.FILES)
    if form.is_valid():
        with errors_shown(request, form):
            sealed = benchmarks.seal(document=form.document)
            messages.success(request, f"{sealed.name} is sealed. Choose it in the terms.")
            return redirect("engagement-contract", reference)
    return contract_page(request, engagement, sealing=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def offer(request: HttpRequest, reference: str) -> HttpResponse:
    """Seal the draft and offer it."""
    engagement = access.engagement_for(request.user, reference)
    contract = newest_version(engagement)
    try:
        offers.offer(
            contract=contract, by=actor(request), expected_version=expected_digest(request)
        )
    except APPLICATION_ERRORS as error:
        show_error(request, error)
        return contract_page(request, engagement, status=UNPROCESSABLE)
    messages.success(request, f"Version {contract.number} is sealed and offered.")
    return redirect("engagement-contract", reference)


@consultant_page
@require_POST
def accept(request: HttpRequest, reference: str) -> HttpResponse:
    """Accept the terms that were shown, for the consultancy, after a fresh sign-in."""
    engagement = access.engagement_for(request.user, reference)
    reauthentication.require_reauthentication(request)
    form = AcceptForm(request.POST)
    if form.is_valid():
        with errors_shown(request, form):
            acceptances.accept(
                contract=newest_version(engagement),
                party=Party.CONSULTANCY,
                **form.cleaned_data,
                by=actor(request),
                address=current_address(),
                user_agent=request.headers.get("User-Agent", ""),
                signed_in_at=reauthentication.signed_in_at(request),
                second_factor_at=reauthentication.second_factor_at(request),
            )
            messages.success(request, "Accepted for the consultancy.")
            return redirect("engagement-contract", reference)
    return contract_page(request, engagement, accepting=form, status=UNPROCESSABLE)


@consultant_page
@require_POST
def withdraw(request: HttpRequest, reference: str) -> HttpResponse:
    """Withdraw the version that the page showed, with a reason."""
    engagement = access.engagement_for(request.user, reference)
    number = whole(request.POST.get("version", ""))
    shown = engagement.contracts.filter(number=number).first() if number is not None else None
    contract = shown or newest_version(engagement)
    form = ReasonForm(request.POST, label=WITHDRAWAL_LABEL)
    if form.is_valid():
        with errors_shown(request, form):
            offers.withdraw(contract=contract, **form.cleaned_data, by=actor(request))
            messages.success(request, f"Version {contract.number} is withdrawn.")
            return redirect("engagement-contract", reference)
    return contract_page(request, engagement, withdrawing=form, status=UNPROCESSABLE)


def expected_digest(request: HttpRequest) -> str | None:
    """The digest of the draft that the form was opened on; None where it has none."""
    return request.POST.get("expected_version")


def newest_version(engagement: Engagement) -> ContractVersion:
    contract = engagement.contracts.order_by("-number").first()
    if contract is None:
        raise Http404("No contract is drafted.")
    return contract


def contract_page(
    request: HttpRequest,
    engagement: Engagement,
    *,
    draft: DraftForms | None = None,
    preview: Preview | None = None,
    sealing: SealBenchmarkForm | None = None,
    accepting: AcceptForm | None = None,
    withdrawing: ReasonForm | None = None,
    expected_version: str | None = None,
    status: int = 200,
) -> HttpResponse:
    summary = contract_summary_of(engagement)
    contract = _shown(summary, request.GET.get("version", ""))
    acts = may_act(request)
    stage = Stage(summary.engagement.stage)
    if expected_version is None:
        expected_version = _digest_of_draft(summary.open_version)
    context = {
        "engagement": summary.engagement,
        "summary": summary,
        "contract": contract,
        "draft": (draft or _draft(summary)) if acts and stage == Stage.AUDITED else None,
        "preview": preview,
        "sealing": sealing or SealBenchmarkForm(),
        "accepting": accepting
        or AcceptForm(initial={"digest": contract.digest if contract else ""}),
        "consent": acceptances.CONSENT,
        "withdrawing": withdrawing or ReasonForm(label=WITHDRAWAL_LABEL),
        "expected_version": expected_version,
        "named": named_to_accept(contract) if contract else None,
        "may_act": acts,
        "may_amend": acts and amendment_views.may_draft(summary),
        **(_permissions(contract, acts=acts, stage=stage) if contract else {}),
    }
    if contract is not None and not context["draft"]:
        context |= version_context(summary, contract, against=request.GET.get("against", ""))
        context |= handover_context(summary.engagement, summary.in_force)
    return render(request, "contracts/contract.html", context, status=status)


def _digest_of_draft(opened: ContractVersion | None) -> str:
    if opened is None or opened.state != ContractVersion.State.DRAFT:
        return ""
    return offers.digest_of_draft(opened)


def _permissions(contract: ContractVersion, *, acts: bool, stage: Stage) -> dict[str, bool]:
    """The actions that are open on this version, and whether the customer has accepted it."""
    accepted = {acceptance.party for acceptance in contract.acceptances.all()}
    is_draft = contract.state == ContractVersion.State.DRAFT
    is_offered = contract.state == ContractVersion.State.OFFERED
    return {
        "customer_accepted": Party.CUSTOMER in accepted,
        "may_offer": acts
        and is_draft
        and stage == (Stage.ACTIVE if contract.is_amendment else Stage.AUDITED),
        "may_accept": acts
        and is_offered
        and Party.CONSULTANCY not in accepted
        and waits_for(contract, Party.CONSULTANCY) is None,
        "may_withdraw": acts and is_offered,
    }


def _shown(summary: ContractSummary, number: str) -> ContractVersion | None:
    """The version with this number; by default the open one, else the current one."""
    if not number:
        return summary.open_version or summary.contract
    found: Any = next((row for row in summary.versions if str(row.number) == number), None)
    if found is None:
        raise Http404("No such version.")
    return ContractVersion.objects.select_related("engagement", "benchmark").get(pk=found.pk)


def _draft(summary: ContractSummary) -> DraftForms:
    """The open draft, else the last version as a start, else a blank one."""
    audit = Audit.objects.select_related("engagement__customer").get(engagement=summary.engagement)
    if summary.versions:
        return draft_forms.stored(summary.open_version or summary.versions[0], audit)
    return draft_forms.blank(audit)
