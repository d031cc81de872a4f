"""The document that a draft would make, as a page shows it while the draft is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.models import Benchmark
from engagements.common.errors import ApplicationError
from engagements.common.wordings import Difference
from engagements.contracts import amendments
from engagements.contracts import services as contracts
from engagements.contracts import terms as contract_terms
from engagements.contracts.differences import differences
from engagements.contracts.document import words
from engagements.contracts.draft_views import Draft
from engagements.contracts.versions import contract_in_force
from engagements.engagement.models import Engagement
from engagements.people.models import User


@dataclass(frozen=True)
class Preview:
    """What the contract would say, or why it cannot be drafted like this. Empty when what was
    typed cannot be read yet."""

    words: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""
    differences: list[Difference] = field(default_factory=list)


def of_draft(engagement: Engagement, draft: Draft, *, by: User) -> Preview:
    """What the contract would say if `draft` were offered."""
    return _shown(lambda: contracts.preview(engagement=engagement, **draft.values, by=by))


def of_amendment(engagement: Engagement, *, by: User, **values: Any) -> Preview:
    """What the contract would say if this amendment were offered, and what is different then."""
    preview = _shown(lambda: amendments.preview(engagement=engagement, by=by, **values))
    before = contract_in_force(engagement)
    if not preview.words or before is None:
        return preview
    changes = differences(contract_terms.terms_of(before), preview.words["terms"])
    return Preview(words=preview.words, differences=changes)


def _shown(compose: Callable[[], dict[str, Any]]) -> Preview:
    try:
        terms = compose()
        benchmark = Benchmark.objects.get(digest=terms["benchmark"]["digest"])
        return Preview(words=words(terms, benchmark.document))
    except ApplicationError as refused:
        return Preview(refusal=str(refused))
