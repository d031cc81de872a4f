"""Clauses: published by number, never changed; drafts take the newest number of each.

The first ones are the files in `texts`: a title, a line of guidance, then the text as in
`template`. A later publication is the next number of its slug. All are templates for counsel, not
legal advice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Count

from benchmarks.records.canonical import digest_of_bytes
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.wordings import Difference
from engagements.contracts.clauses import template
from engagements.contracts.clauses.models import Clause, ContractClause
from engagements.contracts.clauses.schedules import SLUGS
from engagements.contracts.clauses.values import NAMES
from engagements.people.models import User

TEXTS = Path(__file__).resolve().parent / "texts"
# Number of the advisory lock for publishing clauses.
_CLAUSES = 0x7F0C


def newest() -> list[Clause]:
    """The newest number of every clause, in the order of the contract.

    Publishes the files in `texts` where there are no clauses.
    """
    if not Clause.objects.exists():
        _publish_texts()
    clauses = Clause.objects.order_by("slug", "-number").distinct("slug")
    order = {_slug(file): place for place, file in enumerate(_files())}
    return sorted(clauses, key=lambda clause: (order.get(clause.slug, len(order)), clause.slug))


@transaction.atomic
def publish(
    *,
    slug: str,
    title: str,
    text: str,
    by: User,
    guidance: str = "",
    after: int | None = None,
) -> tuple[Clause, bool]:
    """Publish a text as the next number of `slug`; returns the clause and whether it is new.

    An unchanged text returns the newest clause. `after` is the number that `by` started from;
    raises ApplicationError where it is no longer the newest, or where the text cannot be
    read or uses a value that contracts do not have.
    """
    if not access.is_admin(by):
        raise ApplicationError("Only admins may publish clauses.", code="clause.admins_only")
    _lock_publishing()
    last = _last(slug)
    if last is not None and after is not None and after != last.number:
        raise ApplicationError(
            f"“{slug}” is now at number {last.number}. Review that one and change it.",
            code="clause.changed",
        )
    _require_known(slug, text)
    clause = _publish(slug, title, text, guidance, by, last)
    return clause, clause != last


def digest_of(text: str) -> str:
    """The digest of a clause: that of its text in UTF-8."""
    return digest_of_bytes(text.encode())


@transaction.atomic
def _publish_texts() -> None:
    _lock_publishing()
    # Another transaction may have published them while this one waited for the lock.
    if not Clause.objects.exists():
        Clause.objects.bulk_create(_clause_of(file) for file in _files())


def _clause_of(file: Path) -> Clause:
    title, guidance, text = file.read_text(encoding="utf-8").split("\n", 2)
    return _clause(_slug(file), 1, title.lstrip("# "), text, guidance.lstrip("> "))


def _require_known(slug: str, text: str) -> None:
    unknown = sorted(set(template.names(text)) - NAMES)
    if unknown:
        raise ApplicationError(
            f"Contracts have no value named {', '.join(unknown)}.", code="clause.unknown_value"
        )
    slugs = {slug, *(clause.slug for clause in newest())}
    parts = {f"clause:{each}" for each in slugs} | {f"schedule:{each}" for each in SLUGS}
    missing = sorted(set(template.references(text)) - parts)
    if missing:
        raise ApplicationError(
            f"Contracts have no {', '.join(missing)}.", code="clause.no_such_part"
        )


def _lock_publishing() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAUSES])


def _last(slug: str) -> Clause | None:
    return Clause.objects.filter(slug=slug).order_by("-number").first()


def _publish(
    slug: str, title: str, text: str, guidance: str, by: User, last: Clause | None
) -> Clause:
    clause = _clause(slug, last.number + 1 if last else 1, title, text, guidance)
    if last and (last.title, last.text, last.guidance) == (clause.title, clause.text, guidance):
        return last
    clause.published_by = by
    validation.save_validated(clause)
    return clause


def _clause(slug: str, number: int, title: str, text: str, guidance: str) -> Clause:
    title = validation.text(title, noun="The title")
    text = validation.text(text.replace("\r\n", "\n"), noun="The text")
    clause = Clause(slug=slug, number=number, title=title, text=text, guidance=guidance)
    clause.digest = digest_of(text)
    return clause


def _files() -> list[Path]:
    return sorted(TEXTS.glob("*.md"))


def _slug(file: Path) -> str:
    """The slug of a file, without the number of its place."""
    return file.stem.partition("-")[2]


@dataclass(frozen=True)
class PublishedClause:
    """One number of a clause, the number `before` it, and how many engagements have it in a
    sealed contract."""

    clause: Clause
    before: Clause | None
    engagements: int

    @property
    def differences(self) -> list[Difference]:
        """The differences from the number before; none for the first."""
        if self.before is None:
            return []
        return changes(self.before, title=self.clause.title, text=self.clause.text)


def changes(before: Clause, *, title: str, text: str) -> list[Difference]:
    """The differences of `title` and `text` from a clause."""
    pairs = (("Title", before.title, title), ("Text", before.text, text))
    return [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def published() -> dict[int, PublishedClause]:
    """Every number of every clause by its primary key, newest number first."""
    sealed = ContractClause.objects.filter(contract_version__sealed_at__isnull=False)
    counted = sealed.values_list("clause").annotate(
        Count("contract_version__engagement", distinct=True)
    )
    engagements, found = dict(counted), {}
    rows = list(Clause.objects.select_related("published_by").order_by("slug", "-number"))
    for row, earlier in zip(rows, [*rows[1:], None], strict=True):
        before = earlier if earlier is not None and earlier.slug == row.slug else None
        found[row.pk] = PublishedClause(row, before, engagements.get(row.pk, 0))
    return found
