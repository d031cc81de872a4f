"""The governing texts as they were published: what each number changed, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from engagements.common.wordings import Difference
from engagements.contracts.clauses.models import Clause, ContractClause


@dataclass(frozen=True)
class Published:
    """One number of a text, the number `before` it, and how many engagements have it in a
    contract that was sealed."""

    clause: Clause
    before: Clause | None
    engagements: int

    @property
    def differences(self) -> list[Difference]:
        """What this number says otherwise than the one before it; nothing for the first."""
        if self.before is None:
            return []
        return changes(self.before, title=self.clause.title, text=self.clause.text)


def changes(before: Clause, *, title: str, text: str) -> list[Difference]:
    """What `title` and `text` say otherwise than a clause."""
    pairs = (("Title", before.title, title), ("Text", before.text, text))
    return [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def published() -> dict[int, Published]:
    """Every number of every text by its key, newest number first."""
    sealed = ContractClause.objects.filter(contract_version__sealed_at__isnull=False)
    counted = sealed.values_list("clause").annotate(
        Count("contract_version__engagement", distinct=True)
    )
    standing, found = dict(counted), {}
    rows = list(Clause.objects.select_related("published_by").order_by("slug", "-number"))
    for row, earlier in zip(rows, [*rows[1:], None], strict=True):
        before = earlier if earlier is not None and earlier.slug == row.slug else None
        found[row.pk] = Published(row, before, standing.get(row.pk, 0))
    return found
