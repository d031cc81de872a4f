"""Compare two versions of the terms, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engagements.common.wordings import Difference
from engagements.contracts import wording
from engagements.contracts.fields import facts
from engagements.contracts.wording import Terms


def differences(before: Terms, after: Terms) -> list[Difference]:
    """Every difference between two versions, in the order of the terms.

    A milestone released in between for the same amount does not count as a difference.
    """
    old, new = dict(_labelled(before)), dict(_labelled(after))
    for label, clause in _clauses(after).items():
        earlier = _clauses(before).get(label)
        # The changed term is already listed; a clause that only quotes it is skipped.
        if earlier is None or earlier["digest"] != clause["digest"]:
            old[label], new[label] = _wording(earlier), _wording(clause)
    for label in _clauses(before).keys() - _clauses(after).keys():
        old[label] = _wording(_clauses(before)[label])
    for label, amount in _released(after):
        if old.get(label, "").startswith(amount):
            new[label] = old[label]
    labels = [*new, *(label for label in old if label not in new)]
    return [
        Difference(label, old.get(label, ""), new.get(label, ""))
        for label in labels
        if old.get(label, "") != new.get(label, "")
    ]


def _labelled(terms: Terms) -> Iterator[tuple[str, str]]:
    """The terms as (label, text), without the identity of the version."""
    yield "Scope", f"{terms['engagement']['title']}\n{terms['scope']}"
    for side, party in terms["parties"].items():
        lines = [party["name"], party["address"], party["country"], party["vat_id"]]
        yield f"The {side}", "\n".join(line for line in lines if line)
    for side, people in terms["signatories"].items():
        yield f"Signatories of the {side}", ", ".join(person["name"] for person in people)
    for fact in facts(terms):
        yield fact.label, fact.text
    yield from _released(terms)
    for part in terms["milestones"]:
        amount = wording.amount(part["amount"], terms["currency"])
        yield f"Milestone “{part['title']}”", f"{amount} when {part['released_when']}"
    for pause in terms["pauses"]:
        days = f"from {wording.day(pause['starts_on'])} until {wording.day(pause['ends_on'])}"
        yield f"Pause {days}", f"waiting for {pause['waits_for']}: {pause['reason']}"
    yield "Promise", terms["promise"]


def clause_differences(before: Terms, after: Terms) -> list[Difference]:
    """Every clause whose wording differs between two versions, in the order of `after`."""
    old, new = _clauses(before), _clauses(after)
    pairs = ((label, _wording(old.get(label)), _wording(new.get(label))) for label in old | new)
    return [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def _clauses(terms: Terms) -> dict[str, Any]:
    return {f"Clause: {each['title']}": each for each in terms["text"]["clauses"]}


def _wording(clause: dict[str, Any] | None) -> str:
    return "\n".join(clause["paragraphs"]) if clause else ""


def _released(terms: Terms) -> Iterator[tuple[str, str]]:
    for part in terms["released_before"]:
        yield f"Milestone “{part['title']}”", wording.amount(part["amount"], terms["currency"])
