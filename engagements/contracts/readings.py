"""One version of the contract to be read: its terms, its document, and how it differs."""

from __future__ import annotations

from typing import Any

from django.http import Http404

from engagements.contracts import drafting
from engagements.contracts import terms as terms_
from engagements.contracts.differences import differences
from engagements.contracts.models import ContractVersion
from engagements.contracts.summary import ContractSummary
from engagements.documents.models import Document


def of(summary: ContractSummary, contract: ContractVersion, *, against: str) -> dict[str, Any]:
    """What a page shows of `contract`, set against the version `against` (a number), or against
    the one that it amends or follows. Http404 when there is no such version."""
    other = _other(summary, contract, against)
    terms = reading_of(contract)
    return {
        "terms": terms,
        "document": document_of(contract),
        "against": other,
        "others": [row for row in summary.versions if row.number != contract.number],
        "differences": differences(reading_of(other), terms) if other else [],
    }


def reading_of(contract: ContractVersion) -> dict[str, Any]:
    """The terms as sealed, or those that sealing the draft now would fix."""
    if contract.is_sealed:
        return terms_.terms_of(contract)
    return terms_.compose(drafting.stored(contract))


def document_of(contract: ContractVersion) -> Document | None:
    """The newest PDF of a version: as accepted, else as offered."""
    subjects = (f"contract:{contract.pk}:accepted", f"contract:{contract.pk}")
    found = {
        document.subject: document
        for document in Document.objects.filter(
            kind=Document.Kind.CONTRACT, subject__in=subjects
        ).defer("content")
    }
    return next((found[subject] for subject in subjects if subject in found), None)


def _other(
    summary: ContractSummary, contract: ContractVersion, against: str
) -> ContractVersion | None:
    if against:
        found = next((row for row in summary.versions if str(row.number) == against), None)
        if found is None:
            raise Http404("No such version.")
        return found
    if contract.amends_id is not None:
        return next(row for row in summary.versions if row.pk == contract.amends_id)
    earlier = (row for row in summary.versions if row.number < contract.number)
    return next(earlier, None)
