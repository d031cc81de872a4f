"""The certificate of completion: who signed a contract, when, and the evidence of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.common.errors import ApplicationError
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.terms import terms_of
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument
from engagements.event_log.models import Event

NOUN = "contract"
SCHEMA = "twofold.completion/1"
# The events of a signing process that the certificate lists, in the order in which they occurred.
VERBS = ("contract.offered", "contract.viewed", "contract.delegated", "contract.accepted")
# Versions that both parties have signed, amended since or not.
SIGNED = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)


def due() -> Iterator[Subject]:
    """Every version that both parties have signed."""
    signed = ContractVersion.objects.filter(state__in=SIGNED)
    return (Subject(NOUN, pk) for pk in signed.values_list("pk", flat=True))


def compose(subject: Subject) -> RenderableDocument:
    """Compose the certificate. Raises ApplicationError before both parties have signed."""
    contract = ContractVersion.objects.select_related("engagement__customer").get(pk=subject.pk)
    signatures = list(contract.acceptances.select_related("user").order_by("accepted_at"))
    if len(signatures) < len(Party):
        raise ApplicationError(
            "Both parties have to accept the contract first.", code="contract.not_accepted"
        )
    events = list(_events(contract))
    sealed = canonical(_as_data(contract, signatures, events))
    reference = contract.engagement.reference
    title = f"Certificate of completion, contract {reference}, version {contract.number}"
    return RenderableDocument(
        engagement=contract.engagement,
        title=title,
        running_title=title,
        filename=f"{reference}-contract-v{contract.number}-certificate.pdf",
        template="contracts/document/completion.html",
        dated=signatures[-1].accepted_at,
        seal=digest_of_bytes(sealed),
        sealed="The evidence of the signatures, attached as signatures.json",
        summary=f"Signatures of the contract {reference}, version {contract.number}.",
        context={
            "contract": contract,
            "sealed_at": formatting.moment(contract.sealed_at) if contract.sealed_at else "",
            "signatures": [_signature(contract, each) for each in signatures],
            "events": [(formatting.moment(each.happened_at), each.summary) for each in events],
        },
        enclosures=(Enclosure("signatures.json", sealed, "The evidence of the signatures"),),
    )


def _events(contract: ContractVersion) -> Iterator[Event]:
    for event in contract.engagement.events.filter(verb__in=VERBS).order_by("pk"):
        if event.changes.get("digest") == contract.digest:
            yield event


def _signature(contract: ContractVersion, signed: Acceptance) -> dict[str, Any]:
    return {
        "party": terms_of(contract)["parties"][signed.party]["name"],
        "name": signed.typed_name,
        "facts": [
            ("Account", f"{signed.user.name}, {signed.user.email}"),
            ("Signed", formatting.moment(signed.accepted_at)),
            ("Consent", " ".join(filter(None, (signed.consent, signed.exclusion_consent)))),
            ("Digest signed", signed.digest),
            ("IP address", formatting.address(signed.address) or "Not recorded"),
            ("Browser", signed.user_agent or "Not recorded"),
            ("Last sign-in", _moment(signed.signed_in_at)),
            ("Second factor", _moment(signed.second_factor_at, missing="Not used")),
        ],
    }


def _moment(value: datetime | None, *, missing: str = "Not recorded") -> str:
    return formatting.moment(value) if value else missing


def _as_data(
    contract: ContractVersion, signatures: list[Acceptance], events: list[Event]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "engagement": contract.engagement.reference,
        "contract": {"version": contract.number, "digest": contract.digest},
        "signatures": [
            {
                "party": each.party,
                "name": each.typed_name,
                "account": {"name": each.user.name, "email": each.user.email},
                "consent": each.consent,
                "exclusion_consent": each.exclusion_consent,
                "digest": each.digest,
                "address": each.address,
                "user_agent": each.user_agent,
                "accepted_at": each.accepted_at.isoformat(),
                "signed_in_at": each.signed_in_at and each.signed_in_at.isoformat(),
                "second_factor_at": each.second_factor_at and each.second_factor_at.isoformat(),
            }
            for each in signatures
        ],
        "events": [
            {"at": each.happened_at.isoformat(), "summary": each.summary} for each in events
        ],
    }
