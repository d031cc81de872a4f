"""The document of a contract, from its sealed terms only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from benchmarks.records.canonical import digest_of_bytes
from engagements.common import money
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import wording
from engagements.contracts.document.example import worked_example
from engagements.contracts.fields import facts
from engagements.contracts.models import Acceptance, ContractVersion, Party
from engagements.contracts.terms import pauses_of, terms_of
from engagements.contracts.time_box.services import last_day
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument

NOUN = "contract"
ACCEPTED = "accepted"
# Accepted by both parties, amended since or not.
AGREED = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
TAX = {
    ContractVersion.TaxTreatment.RATE: "Tax is added at the rate above",
    ContractVersion.TaxTreatment.REVERSE_CHARGE: "No tax is added: the customer owes it",
    ContractVersion.TaxTreatment.EXEMPT: "No tax is added: the service is exempt",
    ContractVersion.TaxTreatment.ZERO: "No tax is added: the rate is zero",
    ContractVersion.TaxTreatment.OUTSIDE: "No tax is added: VAT does not apply",
}


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
            contract.benchmark.document,
            sealed_at=contract.sealed_at,
            acceptances=acceptances,
        ),
        enclosures=_enclosures(bytes(contract.benchmark.canonical), bytes(contract.canonical)),
        is_signed=True,
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
    benchmark: dict[str, Any],
    *,
    sealed_at: datetime | None = None,
    acceptances: Sequence[Acceptance] = (),
) -> dict[str, Any]:
    """Return the context of `_body.html`, from the terms and the document of their benchmark.

    Without `sealed_at` it is the preview of a draft.
    """
    starts_on = _starts_on(terms, acceptances)
    rate = Decimal(terms["tax_rate_percent"])
    return {
        "terms": terms,
        "amends": _amends(terms),
        "consultancy": formatting.party(terms["parties"]["consultancy"]),
        "customer": formatting.party(terms["parties"]["customer"]),
        "sealed_on": in_words(sealed_at) if sealed_at else "",
        "sealed_at": formatting.moment(sealed_at) if sealed_at else "",
        "valid_until": wording.day(terms["valid_until"]),
        "target": formatting.plain_number(Decimal(terms["target"])),
        "fee": wording.amount(terms["fee"], terms["currency"]),
        "audit_cost": wording.amount(terms["audit_cost"], terms["currency"]),
        "tax_rate": formatting.percent(rate),
        "has_tax": rate > 0,
        "sentences": {
            section: [fact.text for fact in facts(terms, section=section)]
            for section in ("fee", "time_box", "runs")
        },
        "tax_text": TAX[terms["tax"]["treatment"]],
        "tax_note": terms["tax"]["note"],
        "starts_on": in_words(starts_on),
        "ends_on": in_words(last_day(starts_on, terms["weeks"], pauses_of(terms))),
        "pauses": [_pause(each) for each in terms["pauses"]],
        "milestones": _milestones(terms, terms["milestones"]),
        "released_before": _milestones(terms, terms["released_before"]),
        "totals": _totals(terms),
        "example": worked_example(terms),
        "benchmark": benchmark,
        "noise_band": _band(benchmark["protocol"], "noise_band"),
        "interrupted_band": _band(benchmark["protocol"], "interrupted_band"),
        "workloads": [_workload(each) for each in benchmark["workloads"]],
        "confidence": formatting.share(terms["benchmark"]["confidence"]),
        "hardware": wording.hardware(terms["benchmark"]["hardware"]),
        "signing": [_signing(terms, party, acceptances) for party in ("consultancy", "customer")],
        "is_accepted": bool(acceptances),
    }


def _starts_on(terms: dict[str, Any], acceptances: Sequence[Acceptance]) -> date:
    """The first day of the time-box: the agreed one, or a later second acceptance."""
    if terms["began_on"]:
        return date.fromisoformat(terms["began_on"])
    accepted = (timezone.localdate(each.accepted_at) for each in acceptances)
    return max([date.fromisoformat(terms["starts_on"]), *accepted])


def _amends(terms: dict[str, Any]) -> dict[str, str] | None:
    amended = terms["amends"]
    if amended is None:
        return None
    return {
        "version": amended["version"],
        "digest": amended["digest"],
        "change": ContractVersion.Amendment(amended["changes"]).label.lower(),
        "reason": amended["reason"],
        "signs": _signs_from_now_on(terms) if _changes_who_signs(terms) else "",
    }


def _changes_who_signs(terms: dict[str, Any]) -> bool:
    amended = terms["amends"]
    return amended is not None and amended["changes"] == ContractVersion.Amendment.SIGNATORY


def _signs_from_now_on(terms: dict[str, Any]) -> str:
    named = terms["signatory"]
    return f"only {named['name']}" if named else "any signatory"


def _pause(pause: dict[str, str]) -> dict[str, str]:
    return {**pause, **{name: wording.day(pause[name]) for name in ("starts_on", "ends_on")}}


def _milestones(terms: dict[str, Any], parts: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    currency, rate = terms["currency"], Decimal(terms["tax_rate_percent"])
    everything = [*terms["released_before"], *terms["milestones"]]
    shares = money.tax_shares((Decimal(each["amount"]) for each in everything), rate, currency)
    first = 0 if parts is terms["released_before"] else len(terms["released_before"])
    rows = []
    for milestone, tax in zip(parts, shares[first:], strict=False):
        net = Decimal(milestone["amount"])
        rows.append(
            {
                "position": str(milestone["position"]),
                "title": milestone["title"],
                "released_when": _released_when(milestone),
                "version": str(milestone.get("version", "")),
                "net": formatting.figure(net, currency),
                "tax": formatting.figure(tax, currency),
                "gross": formatting.figure(net + tax, currency),
            }
        )
    return rows


def _released_when(milestone: dict[str, Any]) -> str:
    if "due_on" in milestone:
        return f"{wording.day(milestone['due_on'])} has come"
    return str(milestone.get("released_when", ""))


def _totals(terms: dict[str, Any]) -> dict[str, str]:
    """The totals of the table. Raises ApplicationError when they are not the fee."""
    currency, rate = terms["currency"], Decimal(terms["tax_rate_percent"])
    parts = [Decimal(each["amount"]) for each in (*terms["released_before"], *terms["milestones"])]
    net = sum(parts, Decimal(0))
    if net != Decimal(terms["fee"]):
        raise ApplicationError(
            f"The milestones add up to {net}, the fee is {terms['fee']}.",
            code="contract.milestones_not_fee",
        )
    tax = money.tax_on(net, rate, currency)
    return {
        "net": formatting.figure(net, currency),
        "tax": formatting.figure(tax, currency),
        "gross": formatting.figure(net + tax, currency),
    }


def _workload(workload: dict[str, Any]) -> dict[str, str]:
    axes = ", ".join(f"{name} {size:,}" for name, size in workload["axes"].items())
    return {"name": workload["name"], "axes": axes, "weight": formatting.share(workload["weight"])}


def _band(protocol: dict[str, Any], name: str) -> str:
    """A tolerance band of the protocol; empty where the benchmark has none."""
    band = protocol.get(name)
    return formatting.share(band) if band else ""


def _moment(value: datetime | None) -> str:
    return formatting.moment(value) if value else ""


def _signing(
    terms: dict[str, Any], party: str, acceptances: Sequence[Acceptance]
) -> dict[str, Any]:
    accepted = next((each for each in acceptances if each.party == party), None)
    is_customer, is_changed = party == Party.CUSTOMER, _changes_who_signs(terms)
    return {
        "party": terms["parties"][party]["name"],
        "may_sign": ", ".join(each["name"] for each in terms["signatories"][party]),
        "signs_alone": is_customer and terms["signatory"] is not None and not is_changed,
        "signs_as_before": is_customer and is_changed,
        "typed_name": accepted.typed_name if accepted else "",
        "person": f"{accepted.user.name}, {accepted.user.email}" if accepted else "",
        "accepted_at": formatting.moment(accepted.accepted_at) if accepted else "",
        "address": (accepted.address or "") if accepted else "",
        "signed_in_at": _moment(accepted.signed_in_at) if accepted else "",
        "digest": accepted.digest if accepted else "",
    }
