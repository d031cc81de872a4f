"""Two versions are compared by every term, and by nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from engagements.common.wordings import Difference
from engagements.contracts.differences import clause_differences, differences
from engagements.contracts.terms import terms_of
from tests.engagements.world import World


@pytest.fixture
def terms(world: World) -> dict[str, Any]:
    return terms_of(world.offered())


def changed(terms: dict[str, Any], *path: Any, to: object) -> dict[str, Any]:
    after = copy.deepcopy(terms)
    place: Any = after
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return after


CHANGES: list[tuple[tuple[Any, ...], object, str]] = [
    (("fee",), "50000.00", "Fee, net"),
    (("audit_cost",), "5000.00", "Audit cost, net"),
    (("tax_rate_percent",), "7.00", "Tax"),
    (("tax",), {"treatment": "exempt", "note": "§ 19"}, "Tax"),
    (("payment_days",), 30, "Payment term"),
    (("dispute_days",), 30, "Disputes"),
    (("refund_days",), 30, "Refund"),
    (("acceptance_runs",), 5, "Acceptance runs"),
    (("run_notice_days",), 3, "Notice"),
    (("noise_repeats",), 0, "Repeats for noise"),
    (("place",), "customer", "Place of measurement"),
    (("expert",), "Prof. Gauge, Measured GmbH", "Expert for disputed measurements"),
    (("signatory",), {"name": "Sigrid"}, "Sole signatory of the customer"),
    (("valid_until",), "2026-12-01", "Open for acceptance until"),
    (("weeks",), 8, "Time-box"),
    (("starts_on",), "2026-01-05", "Time-box"),
    (("target",), "3.00", "Target"),
    (("scope",), "Something else.", "Scope"),
    (("promise",), "None.", "Promise"),
    (("inconclusive", "meaning"), "Nobody knows.", "Inconclusive run"),
    (("benchmark", "digest"), "sha256:" + "1" * 64, "Benchmark"),
    (("benchmark", "baseline"), "Another.", "Benchmark"),
    (("benchmark", "hardware", "name"), "H200", "Benchmark"),
    (("benchmark", "confidence"), 0.9, "Benchmark"),
    (("parties", "customer", "address"), "Elsewhere", "The customer"),
    (("signatories", "customer"), [], "Signatories of the customer"),
    (("milestones", 0, "amount"), "1.00", "Milestone “Signature”"),
    (("milestones", 0, "released_when"), "soon", "Milestone “Signature”"),
    (("rights",), "assignment", "Rights"),
    (("law",), "France", "Law"),
    (("affiliates",), False, "Use by affiliates"),
    (("late_interest_points",), "5.00", "Late interest"),
    (("non_solicitation_months",), 0, "Non-solicitation"),
]


def test_each_changed_term_is_one_difference(terms: dict[str, Any]) -> None:
    assert differences(terms, copy.deepcopy(terms)) == []
    for path, to, label in CHANGES:
        (found,) = differences(terms, changed(terms, *path, to=to))
        assert found.label == label
        assert found.before != found.after


def test_added_and_removed_parts_are_differences(terms: dict[str, Any]) -> None:
    pause = {
        "starts_on": "2026-09-01",
        "ends_on": "2026-09-04",
        "waits_for": "You",
        "reason": "No weights.",
    }
    after = changed(terms, "pauses", to=[pause])
    (added,) = differences(terms, after)
    assert (added.before, added.after) == ("", "waiting for You: No weights.")
    (removed,) = differences(after, terms)
    assert (removed.before, removed.after) == ("waiting for You: No weights.", "")


def test_a_clause_is_a_difference_of_the_terms_only_in_another_version(
    terms: dict[str, Any],
) -> None:
    after = changed(terms, "text", "clauses", 0, "paragraphs", to=["Other words."])
    assert differences(terms, after) == []
    (found,) = clause_differences(terms, after)
    assert (found.label, found.after) == ("Clause: Agreement", "Other words.")
    other = changed(after, "text", "clauses", 0, "digest", to="sha256:" + "2" * 64)
    assert differences(terms, other) == [found]


def test_similar_texts_are_compared_word_by_word_and_others_side_by_side() -> None:
    alike = Difference("x", "6 weeks from 5 October 2026", "8 weeks from 5 October 2026")
    assert [(piece.change, piece.text) for piece in alike.pieces] == [
        ("out", "6"),
        ("in", "8"),
        ("kept", " weeks from 5 October 2026"),
    ]
    other = Difference("x", "One sentence of words.", "Nothing alike here")
    assert [piece.change for piece in other.pieces] == ["out", "kept", "in"]
    for each in (alike, other):
        assert "".join(p.text for p in each.pieces if p.change != "in").strip() == each.before
        assert "".join(p.text for p in each.pieces if p.change != "out").strip() == each.after
