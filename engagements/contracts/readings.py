"""One version of the contract as a page shows it, and the preview of a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404

from engagements.common.errors import ApplicationError
from engagements.common.wordings import Difference
from engagements.contracts import drafting
from engagements.contracts.differences import differences
from engagements.contracts.document import body_context
from engagements.contracts.fields import facts
from engagements.contracts.models import ContractVersion
from engagements.contracts.summary import ContractSummary
from engagements.contracts.terms import compose, terms_of
from engagements.documents.models import Document


def version_context(
    summary: ContractSummary, contract: ContractVersion, *, against: str
) -> dict[str, Any]:
    """Return the template context of `contract`, compared with another version.

    `against` is that version's number; by default the one it amends, else the one before it.
    Raises Http404 for an unknown number.
    """
    other = _other(summary, contract, against)
    terms = current_terms(contract)
    return {
        "terms": terms,
        "facts": list(facts(terms)),
        "document": document_of(contract),
        "against": other,
        "others": [row for row in summary.versions if row.number != contract.number],
        "differences": differences(current_terms(other), terms) if other else [],
    }


def current_terms(contract: ContractVersion) -> dict[str, Any]:
    """The sealed terms, or those that sealing the draft now would fix."""
    if contract.is_sealed:
        return terms_of(contract)
    return compose(drafting.stored(contract))


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


@dataclass(frozen=True)
class Preview:
    """The document that a draft would make, or the `error` why it cannot be drafted.

    Empty while the form has errors.
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    differences: Sequence[Difference] = ()


def preview_of(
    compose_terms: Callable[[], dict[str, Any]], amended: ContractVersion | None = None
) -> Preview:
    """Preview the terms that a service composes, compared with the version they amend."""
    try:
        terms = compose_terms()
    except ApplicationError as error:
        return Preview(error=str(error))
    return Preview(
        body=body_context(terms),
        differences=differences(terms_of(amended), terms) if amended else (),
    )


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
