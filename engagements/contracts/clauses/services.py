"""Governing texts: published by number, never changed, chosen by each contract.

The texts that the house starts with lie beside this application, one file each; what is
published later is the next number of its slug, and contracts take the newest of each.
"""

from __future__ import annotations

from pathlib import Path

from django.db import connection, transaction

from benchmarks.records.canonical import digest_of_bytes
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts.clauses.models import Clause
from engagements.people.models import User

TEXTS = Path(__file__).resolve().parent / "texts"
# Names the advisory lock under which clauses are published. Any number of our own does.
_CLAUSES = 0x7F0C


def newest() -> list[Clause]:
    """The newest number of every clause, in the order in which contracts have them.

    The texts that the house starts with are published when there are none yet.
    """
    if not Clause.objects.exists():
        _publish_texts()
    clauses = Clause.objects.order_by("slug", "-number").distinct("slug")
    order = {file.stem.partition("-")[2]: place for place, file in enumerate(_files())}
    return sorted(clauses, key=lambda clause: (order.get(clause.slug, len(order)), clause.slug))


@transaction.atomic
def publish(
    *, slug: str, title: str, text: str, by: User, after: int | None = None
) -> tuple[Clause, bool]:
    """Publish a text as the next number of `slug`; the clause, and whether it is new: the newest
    published again stays as it is.

    `after` is the number that `by` started from. Refused where another one is the newest by now.
    """
    if not access.is_admin(by):
        raise ApplicationError("Admins publish clauses.", code="contracts.todo")
    _wait_for_others()
    last = _last(slug)
    if last is not None and after is not None and after != last.number:
        raise ApplicationError(
            f"“{slug}” is at number {last.number} already: change that one, so that nothing "
            "of it is lost unread.",
            code="contracts.todo",
        )
    clause = _publish(slug, title, text, by, last)
    return clause, clause != last


def digest_of(text: str) -> str:
    """The digest of a clause: that of its text in UTF-8."""
    return digest_of_bytes(text.encode())


@transaction.atomic
def _publish_texts() -> None:
    _wait_for_others()
    for file in _files():
        title, _, text = file.read_text(encoding="utf-8").partition("\n")
        slug = file.stem.partition("-")[2]
        _publish(slug, title.lstrip("# "), text, None, _last(slug))


def _wait_for_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAUSES])


def _last(slug: str) -> Clause | None:
    return Clause.objects.filter(slug=slug).order_by("-number").first()


def _publish(slug: str, title: str, text: str, by: User | None, last: Clause | None) -> Clause:
    title = validation.text(title, noun="The title")
    text = validation.text(text.replace("\r\n", "\n"), noun="The text")
    if last and (last.title, last.text) == (title, text):
        return last
    number = last.number + 1 if last else 1
    clause = Clause(slug=slug, number=number, title=title, text=text, published_by=by)
    clause.digest = digest_of(text)
    validation.save_validated(clause)
    return clause


def _files() -> list[Path]:
    return sorted(TEXTS.glob("*.md"))
