"""The document of a contract, from its sealed terms only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from django.utils import timezone

from benchmarks.records.canonical import digest_of_bytes
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import wording
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.terms import pauses_of, terms_of
from engagements.contracts.time_box.services import last_day
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument

NOUN = "contract"
ACCEPTED = "accepted"
# Accepted by both parties, amended since or not.
AGREED = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)


def due() -> Iterator[Subject]:
    """Every sealed version as offered, and as accepted once both parties have."""
    sealed = ContractVersion.objects.filter(sealed_at__isnull=False)
    for pk, state in sealed.values_list("pk", "state"):
        yield Subject(NOUN, pk)
        if state in AGREED:
            yield Subject(NOUN, pk, ACCEPTED)


def compose(subject: Subject) -> RenderableDocument:
    """Compose the sealed version, as offered or as accepted.

    Raises ApplicationError before it is sealed or accepted.
    """
    contract = ContractVersion.objects.select_related("engagement__customer", "benchmark").get(
        pk=subject.pk
    )
    if contract.sealed_at is None or contract.canonical is None:
        raise ApplicationError(
            "Offer the contract before its document is issued.", code="contract.not_sealed"
        )
    if subject.act not in ("", ACCEPTED):
        raise ValueError(f"A contract is issued as offered or as accepted, not {subject.act!r}.")
    acceptances = list(contract.acceptances.select_related("user")) if subject.act else []
    if subject.act and len(acceptances) < len(Party):
        raise ApplicationError(
            "Both parties have to accept the contract first.",
            code="contract.not_accepted",
        )
    _require_intact(contract)
    reference, number = contract.engagement.reference, contract.number
    title = f"Contract {reference}, version {number}{', accepted' if acceptances else ''}"
    return RenderableDocument(
        engagement=contract.engagement,
        title=title,
        running_title=title,
        filename=f"{reference}-contract-v{number}{'-accepted' if acceptances else ''}.pdf",
        template="contracts/document/contract.html",
        dated=acceptances[-1].accepted_at if acceptances else contract.sealed_at,
        seal=contract.digest,
        sealed="The sealed terms, attached as terms.json",
        summary=f"Fixed fee, fixed time, measured target: {contract.engagement.title}.",
        context=body_context(
            terms_of(contract),
            sealed_at=contract.sealed_at,
            acceptances=acceptances,
        ),
        is_countersignable=True,
        enclosures=_enclosures(bytes(contract.benchmark.canonical), bytes(contract.canonical)),
    )


def _enclosures(benchmark: bytes, terms: bytes) -> tuple[Enclosure, ...]:
    """The sealed JSON, whose digests are printed."""
    return (
        Enclosure("benchmark.json", benchmark, "The sealed benchmark"),
        Enclosure("terms.json", terms, "The sealed terms"),
    )


def _require_intact(contract: ContractVersion) -> None:
    """Check the stored bytes against their digests."""
    assert contract.canonical is not None
    if digest_of_bytes(bytes(contract.canonical)) != contract.digest:
        raise ApplicationError(
            "The stored terms differ from the sealed ones.", code="contract.terms_altered"
        )
    benchmark = contract.benchmark
    if digest_of_bytes(bytes(benchmark.canonical)) != terms_of(contract)["benchmark"]["digest"]:
        raise ApplicationError(
            "The stored benchmark differs from the one in the terms.",
            code="contract.benchmark_altered",
        )


def body_context(
    terms: dict[str, Any],
    *,
    sealed_at: datetime | None = None,
    acceptances: Sequence[Acceptance] = (),
) -> dict[str, Any]:
    """Return the context of `_body.html`: the sealed text, and who signed it.

    Without `sealed_at` it is the preview of a draft.
    """
    return {
        "terms": terms,
        "text": terms["text"],
        "consultancy": formatting.party(terms["parties"]["consultancy"]),
        "customer": formatting.party(terms["parties"]["customer"]),
        "sealed_on": in_words(sealed_at) if sealed_at else "",
        "sealed_at": formatting.moment(sealed_at) if sealed_at else "",
        "valid_until": wording.day(terms["valid_until"]),
        "time_box": _time_box(terms, acceptances) if acceptances else "",
        "signing": [_signing(terms, party, acceptances) for party in ("consultancy", "customer")],
        "is_accepted": bool(acceptances),
    }


def _time_box(terms: dict[str, Any], acceptances: Sequence[Acceptance]) -> str:
    """The days of the time-box that the signatures led to."""
    if terms["began_on"]:
        starts_on = date.fromisoformat(terms["began_on"])
    else:
        accepted = (timezone.localdate(each.accepted_at) for each in acceptances)
        starts_on = max([date.fromisoformat(terms["starts_on"]), *accepted])
    ends_on = last_day(starts_on, terms["weeks"], pauses_of(terms))
    return f"from {in_words(starts_on)} to {in_words(ends_on)}"


def _signing(
    terms: dict[str, Any], party: str, acceptances: Sequence[Acceptance]
) -> dict[str, Any]:
    accepted = next((each for each in acceptances if each.party == party), None)
    name = terms["parties"][party]["name"]
    if accepted is None:
        return {"party": name}
    signed_in_at = accepted.signed_in_at
    return {
        "party": name,
        "typed_name": accepted.typed_name,
        "person": f"{accepted.user.name}, {accepted.user.email}",
        "accepted_at": formatting.moment(accepted.accepted_at),
        "address": formatting.address(accepted.address),
        "signed_in_at": formatting.moment(signed_in_at) if signed_in_at else "",
        "digest": accepted.digest,
    }
