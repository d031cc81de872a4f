"""Pages of the contract for the customer: read the sealed terms, accept or decline them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from engagements import access
from engagements.access import actor
from engagements.common.client_ip import current_address
from engagements.common.errors import ApplicationError
from engagements.common.pages import errors_shown
from engagements.contracts import acceptances, countersignatures, delegations, offers, signatories
from engagements.contracts.differences import clause_differences, differences
from engagements.contracts.forms import (
    AcceptContractForm,
    CountersignForm,
    DeclineContractForm,
    DelegateForm,
)
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.readings import document_of
from engagements.contracts.signatories import named_to_accept, waits_for, who_signs
from engagements.contracts.terms import terms_of
from engagements.contracts.versions import acceptance_of, sealed_contracts
from engagements.page_access import portal_page
from engagements.people import reauthentication


@portal_page
@require_safe
def contract_page(request: HttpRequest, reference: str, number: int | None = None) -> HttpResponse:
    """Show a sealed version, by default the current one, and record its first view."""
    contract = _contract(request, reference, number)
    offers.note_viewed(contract=contract, by=actor(request))
    return _render(request, contract)


@portal_page
@require_POST
def accept(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Accept the terms that were shown, after a fresh sign-in."""
    contract = _contract(request, reference, number)
    form = AcceptContractForm(request.POST, contract=contract)
    if not signatories.may_accept(request.user, contract):
        return _render(request, contract, status=403)
    reauthentication.require_reauthentication(request)
    if form.is_valid():
        with errors_shown(request, form):
            acceptances.accept(
                contract=contract,
                party=Party.CUSTOMER,
                typed_name=form.cleaned_data["typed_name"],
                digest=form.cleaned_data["digest"],
                accepts_exclusion=form.cleaned_data.get("accepts_exclusion", False),
                by=actor(request),
                address=current_address(),
                user_agent=request.headers.get("User-Agent", ""),
                signed_in_at=reauthentication.signed_in_at(request),
                second_factor_at=reauthentication.second_factor_at(request),
            )
            messages.success(request, "You have accepted the contract.")
            return redirect("portal-engagement", reference=reference)
    return _render(request, contract, accept_form=form, status=422)


@portal_page
@require_POST
def delegate(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Delegate the signature to another signatory, after a fresh sign-in."""
    contract = _contract(request, reference, number)
    people = signatories.delegates_for(request.user, contract)
    form = DelegateForm(request.POST, people=people)
    if not signatories.may_accept(request.user, contract):
        return _render(request, contract, status=403)
    reauthentication.require_reauthentication(request)
    if form.is_valid():
        to = form.cleaned_data["delegate"]
        with errors_shown(request, form):
            delegations.delegate(contract=contract, to=to, by=actor(request))
            messages.success(request, f"{to} can now sign the contract; you no longer can.")
            return redirect("portal-contract", reference=reference)
    return _render(request, contract, delegate_form=form, status=422)


@portal_page
@require_POST
def decline(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Decline the offer, with a reason."""
    contract = _contract(request, reference, number)
    form = DeclineContractForm(request.POST)
    if not access.may_sign(request.user, contract.engagement.customer):
        return _render(request, contract, status=403)
    if form.is_valid():
        with errors_shown(request, form):
            offers.decline(contract=contract, reason=form.cleaned_data["reason"], by=actor(request))
            messages.success(
                request, "You have declined the contract. We have received your reason."
            )
            return redirect("portal-engagement", reference=reference)
    return _render(request, contract, decline_form=form, status=422)


@portal_page
@require_POST
def countersign(request: HttpRequest, reference: str, number: int) -> HttpResponse:
    """Store the contract's PDF as signed outside the application."""
    contract = _contract(request, reference, number)
    form = CountersignForm(request.POST, request.FILES)
    if not access.may_sign(request.user, contract.engagement.customer):
        return _render(request, contract, status=403)
    if form.is_valid():
        try:
            countersignatures.add(
                contract=contract, content=form.cleaned_data["file"].read(), by=actor(request)
            )
        except ApplicationError as error:
            form.add_error("file", ValidationError(str(error), code=error.code))
        else:
            messages.success(request, "The signed PDF is stored.")
            return redirect("portal-contract-version", reference, number)
    return _render(request, contract, countersign_form=form, status=422)


@portal_page
@require_safe
def countersigned_file(
    request: HttpRequest, reference: str, number: int, digest: str
) -> HttpResponse:
    """Download a signed PDF, or with ?certificate its signer's certificate as PEM."""
    contract = _contract(request, reference, number)
    found = contract.countersignatures.filter(digest=f"sha256:{digest}").first()
    if found is None:
        raise Http404("No such file.")
    is_pem = "certificate" in request.GET
    name = f"{reference}-contract-v{number}-signed-{digest[:8]}.{'pem' if is_pem else 'pdf'}"
    response = HttpResponse(
        found.certificate if is_pem else bytes(found.content),
        content_type="application/x-pem-file" if is_pem else "application/pdf",
    )
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def _contract(request: HttpRequest, reference: str, number: int | None) -> ContractVersion:
    """The numbered version; by default the one on offer, else in force, else the newest."""
    if number is None:
        engagement = access.engagement_for(request.user, reference)
        states = (ContractVersion.State.OFFERED, ContractVersion.State.ACCEPTED)
        versions = {version.state: version for version in reversed(sealed_contracts(engagement))}
        current = next((versions[state] for state in states if state in versions), None)
        number = current.number if current else None
    contract = access.contract_for(request.user, reference, number)
    if contract.is_sealed:
        return contract
    # Consultants see drafts on their own pages; the portal shows only sealed versions.
    newest = sealed_contracts(contract.engagement).first()
    if newest is None or number is not None:
        raise Http404("No such contract.")
    return newest


def _render(
    request: HttpRequest,
    contract: ContractVersion,
    *,
    accept_form: AcceptContractForm | None = None,
    decline_form: DeclineContractForm | None = None,
    delegate_form: DelegateForm | None = None,
    countersign_form: CountersignForm | None = None,
    status: int = 200,
) -> HttpResponse:
    engagement = contract.engagement
    ours, theirs = (acceptance_of(contract, party) for party in (Party.CONSULTANCY, Party.CUSTOMER))
    versions = list(sealed_contracts(engagement))
    earlier = _earlier(contract, versions)
    terms = terms_of(contract)
    is_open = contract.state == ContractVersion.State.OFFERED and theirs is None
    document = document_of(contract)
    delegates = signatories.delegates_for(request.user, contract) if is_open else []
    context = {
        "engagement": engagement,
        "contract": contract,
        "terms": terms,
        "amendment": _amendment(terms["amends"]),
        "versions": versions,
        "earlier": earlier,
        "differences": differences(terms_of(earlier), terms) if earlier else [],
        "clause_differences": clause_differences(terms_of(earlier), terms) if earlier else [],
        "accepted_by_us": ours,
        "accepted_by_you": theirs,
        "is_open": is_open,
        "can_sign": signatories.may_accept(request.user, contract),
        "waits_for": waits_for(contract, Party.CUSTOMER),
        "delegates": delegates,
        "delegate_form": delegate_form or DelegateForm(people=delegates),
        "signatories": who_signs(contract),
        "named": named_to_accept(contract),
        "accept_form": accept_form
        or AcceptContractForm(initial={"digest": contract.digest}, contract=contract),
        "decline_form": decline_form or DeclineContractForm(),
        "document": document,
        "countersignatures": contract.countersignatures.defer("content"),
        "may_countersign": document is not None
        and contract.state in countersignatures.OPEN
        and access.may_sign(request.user, engagement.customer),
        "countersign_form": countersign_form or CountersignForm(),
    }
    return render(request, "contracts/portal_contract.html", context, status=status)


def _earlier(
    contract: ContractVersion, versions: Sequence[ContractVersion]
) -> ContractVersion | None:
    """The version that `contract` amends, else the sealed one before it."""
    if contract.amends_id is not None:
        return next(row for row in versions if row.pk == contract.amends_id)
    return next((row for row in versions if row.number < contract.number), None)


def _amendment(amends: dict[str, Any] | None) -> dict[str, Any] | None:
    if amends is None:
        return None
    return {**amends, "label": ContractVersion.Amendment(amends["changes"]).label}
