"""The sealed text of a contract, for every pair of options, against its data."""

from __future__ import annotations

import random
import re
from datetime import date
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest

from engagements.common import money
from engagements.common.dates import in_words
from engagements.contracts import wording
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses import template
from engagements.contracts.clauses.models import Clause
from engagements.contracts.clauses.text import text_of
from engagements.contracts.clauses.values import NAMES, values_of
from engagements.contracts.terms import PROMISE, pauses_of, terms_of
from engagements.contracts.time_box.services import last_day
from tests.engagements.world import World
from tests.errors import declined

Terms = dict[str, Any]
PAUSE = {
    "starts_on": "2026-12-01",
    "ends_on": "2026-12-03",
    "waits_for": "The customer",
    "reason": "No weights.",
}
# Placeholders, field names, addresses of this machine, values that are not words.
UNWANTED = (r"[{}\[\]]", r"\w_\w", r"127\.0\.0\.1", "None", r"\bTrue\b", r"\S {2}", "…")
NOTE = "Sentence of the invoice."
DEFINITION = re.compile(r"“([A-Z][^”]*)” (?:is|are|includes) ")
OPTIONS: dict[str, list[Any]] = {
    "rights": ["licence", "assignment"],
    "affiliates": [True, False],
    "sublicensing": [True, False],
    "signing_order": ["any", "customer", "consultancy"],
    "publicity": ["none", "consent", "name"],
    "subcontractors": ["consent", "notice"],
    "personal_data": [True, False],
    "convenience": [True, False],
    "maintenance_fee": [None, "750.00"],
    "warranty_months": [1, 12],
    "non_solicitation_months": [0, 6],
    "liability_cap_percent": [100, 250],
    "late_interest_points": ["8.00", "9.50"],
    "special_terms": ["", "Delivery on a USB stick."],
    "law": ["Germany", "the Netherlands"],
    "court": ["Berlin", "Amsterdam"],
    "tax": ["rate", "reverse_charge", "exempt", "zero", "outside_scope"],
    "currency": ["EUR", "JPY"],
    "payment_days": [0, 1, 30],
    "dispute_days": [0, 10],
    "refund_days": [None, 21],
    "weeks": [3, 6],
    "valid_until": [None, "2026-12-24"],
    "signatory": [False, True],
    "amends": [None, "more_time", "pause", "price", "signatory", "benchmark"],
    "pauses": [[], [PAUSE]],
    "acceptance_runs": [1, 4],
    "run_notice_days": [0, 5],
    "noise_repeats": [0, 1, 3],
    "inconclusive": ["missed", "repeat"],
    "place": ["house", "customer", "both"],
    "expert": ["", "Dr. Ada Example, Example Labs"],
    "bands": [True, False],
    "judging": [1, 2, 3, 4],
}


@pytest.fixture(scope="module")
def chosen() -> list[dict[str, Any]]:
    """Choices in which every pair of values of two options occurs together."""
    draw = random.Random(7)
    missing = {
        ((one, a), (two, b))
        for one, two in combinations(OPTIONS, 2)
        for a in range(len(OPTIONS[one]))
        for b in range(len(OPTIONS[two]))
    }
    found = []
    while missing:
        (one, a), (two, b) = min(missing)
        row = {name: draw.randrange(len(values)) for name, values in OPTIONS.items()}
        row |= {one: a, two: b}
        missing -= set(combinations(row.items(), 2))
        found.append({name: OPTIONS[name][index] for name, index in row.items()})
    return found


def with_options(sealed: Terms, options: dict[str, Any]) -> Terms:
    """The sealed data with these options, consistent as the services would make them."""
    terms = sealed | {
        name: value
        for name, value in options.items()
        if name
        not in ("tax", "signatory", "amends", "bands", "judging", "maintenance_fee", "inconclusive")
    }
    is_taxed, yen = options["tax"] == "rate", options["currency"] == "JPY"
    terms["inconclusive"] = {"rule": options["inconclusive"], "meaning": ""}
    terms["tax"] = {"treatment": options["tax"], "note": "" if is_taxed else NOTE}
    terms["tax_rate_percent"] = "19.00" if is_taxed else "0.00"
    fee = options["maintenance_fee"]
    terms["maintenance_fee"] = fee and ("750" if yen else fee)
    if yen:
        for part in terms["milestones"]:
            part["amount"] = part["amount"].removesuffix(".00")
        terms["fee"], terms["audit_cost"] = "48000", "6000"
    if options["signatory"]:
        terms["signatory"] = terms["signatories"]["customer"][0]
    if options["amends"]:
        changes = {"changes": options["amends"], "reason": "As agreed on the phone."}
        terms["amends"] = {"version": 1, "digest": "sha256:" + "1" * 64, **changes}
        terms["began_on"] = terms["starts_on"]
    return terms


def figures(terms: Terms) -> dict[str, str]:
    """What the text must say, from the data."""
    currency = terms["currency"]
    cap = Decimal(480) * terms["liability_cap_percent"]
    needed = {
        "fee": wording.amount(terms["fee"], currency),
        "audit cost": wording.amount(terms["audit_cost"], currency),
        "cap": money.format_money(cap, currency),
        "weeks": f"{terms['weeks']} weeks",
        "start": in_words(date.fromisoformat(terms["starts_on"])),
        "end": in_words(ends_on(terms)),
        "law": f"The law of {terms['law']} applies",
        "court": f"The courts of {terms['court']} ",
        "warranty": f"For {wording.months(terms['warranty_months'])} ",
        "interest": f"interest is due at {float(terms['late_interest_points']):g} percentage",
        "scope": terms["scope"],
        "promise": terms["promise"],
        "customer": terms["parties"]["customer"]["name"],
        "consultancy": terms["parties"]["consultancy"]["name"],
        "benchmark": terms["benchmark"]["digest"],
        "baseline": terms["benchmark"]["baseline"],
    }
    if terms["tax"]["note"]:
        needed["tax note"] = terms["tax"]["note"]
    for name in ("payment_days", "dispute_days", "refund_days"):
        if terms[name]:
            needed[name] = wording.days(terms[name])
    if terms["valid_until"]:
        needed["open until"] = in_words(date.fromisoformat(terms["valid_until"]))
    runs, repeats = terms["acceptance_runs"], terms["noise_repeats"]
    needed["runs"] = "1 acceptance run " if runs == 1 else f"up to {runs} acceptance runs"
    if repeats and terms["inconclusive"]["rule"] == "missed":
        needed["repeats"] = "to 1 run." if repeats == 1 else f"to {repeats} runs."
    if terms["run_notice_days"]:
        needed["notice"] = f"at least {wording.days(terms['run_notice_days'])} before"
    if terms["expert"]:
        needed["expert"] = terms["expert"]
    if terms["maintenance_fee"]:
        needed["maintenance"] = wording.amount(terms["maintenance_fee"], currency)
    if terms["amends"]:
        needed["amended"] = terms["amends"]["digest"]
    return needed


def ends_on(terms: Terms) -> date:
    return last_day(date.fromisoformat(terms["starts_on"]), terms["weeks"], pauses_of(terms))


def lines(text: dict[str, Any]) -> list[str]:
    """Every paragraph and cell of a text."""
    found = list(text["summary"]["paragraphs"])
    found += [paragraph for each in text["clauses"] for paragraph in each["paragraphs"]]
    for each in text["schedules"]:
        found += [each["title"], *each["notes"], *each["head"]]
        found += [cell for row in each["rows"] for cell in row]
    return found


def test_the_text_states_the_data_for_every_pair_of_options(
    world: World, chosen: list[dict[str, Any]]
) -> None:
    contract = world.offered()
    newest = clauses.newest()
    assert len(chosen) < 200
    for options in chosen:
        sealed = terms_of(contract)
        terms = with_options(sealed, options)
        protocol = contract.benchmark.document["protocol"] | {"rules": options["judging"]}
        if not options["bands"]:
            kept = protocol.items()
            protocol = {name: value for name, value in kept if not name.endswith("_band")}
        benchmark = contract.benchmark.document | {"protocol": protocol}
        text = text_of(terms, benchmark, newest, ends_on=ends_on(terms))
        everything = "\n".join(lines(text))
        assert [what for what, each in figures(terms).items() if each not in everything] == []
        check_amounts(terms, everything)
        check_variants(options, everything)
        own = terms["benchmark"]["baseline"]
        for unwanted in UNWANTED:
            assert not re.search(unwanted, everything.replace(own, "baseline")), (unwanted, options)


def test_no_paragraph_depends_on_more_than_the_pairs_that_are_rendered(world: World) -> None:
    for clause in clauses.newest():
        for paragraph in template.parse(clause.text):
            assert len({each.name for each in paragraph.conditions}) <= 2, paragraph


def check_amounts(terms: Terms, everything: str) -> None:
    """Every amount with a currency, and every date, is one of the data's."""
    expected = figures(terms)
    amounts = set(re.findall(rf"{terms['currency']} [\d,.]*\d", everything))
    assert amounts <= {expected[name] for name in expected}
    days = set(re.findall(r"\b\d{1,2} [A-Z][a-z]+ 20\d\d\b", everything))
    pauses = {in_words(date.fromisoformat(PAUSE[name])) for name in ("starts_on", "ends_on")}
    assert days <= {*expected.values(), *pauses}


def check_variants(options: dict[str, Any], everything: str) -> None:
    """One variant of each choice is in the text, and the other is not."""
    for phrase, applies in {
        "the customer receives the exclusive right": options["rights"] == "licence",
        "the consultancy assigns to the customer": options["rights"] == "assignment",
        "The right does not extend to affiliates": not options["affiliates"],
        "The customer may grant sublicences": options["sublicensing"],
        "Neither party names the other in public": options["publicity"] == "none",
        "may name the customer as a client": options["publicity"] == "name",
        "only with the customer’s prior consent": options["subcontractors"] == "consent",
        "Article 28": options["personal_data"],
        "may terminate for convenience": options["convenience"],
        "maintains the candidate": bool(options["maintenance_fee"]),
        "actively solicits": bool(options["non_solicitation_months"]),
        "USB stick": bool(options["special_terms"]),
        "(reverse charge)": options["tax"] == "reverse_charge",
        "Value-added tax of 19% is added": options["tax"] == "rate",
        "payable on receipt": not options["payment_days"],
        "While a dispute is open": bool(options["dispute_days"]),
        "Interrupted pairs": options["bands"],
        "more than a quarter": options["bands"] and options["judging"] > 1,
        "quietest tenth": options["bands"] and options["judging"] > 1,
        "fastest tenth": options["bands"] and options["judging"] == 1,
        "clocks of a GPU": options["judging"] > 2,
        "chaining": options["judging"] == 4,
        "counts as missed and uses up": options["inconclusive"] == "missed",
        "uses up no attempt and may be repeated": options["inconclusive"] == "repeat",
        "signed with the consultancy’s key": options["place"] == "house",
        "signed with the customer’s key": options["place"] == "customer",
        "is measured twice": options["place"] == "both",
        "one measurement by each party": options["place"] == "both",
        "After a disagreement of both records": options["place"] == "both",
        "gives notice of an acceptance run": bool(options["run_notice_days"]),
        "only because of noise": bool(options["noise_repeats"])
        and options["inconclusive"] == "missed",
        "If one record is inconclusive": options["place"] == "both",
        "The list includes the runner": options["place"] != "house",
        "or after the ten working days": not options["expert"],
        "the chamber of commerce": not options["expert"],
        "From the next version on": options["amends"] == "signatory",
    }.items():
        assert (phrase in everything) is applies, (phrase, options)


def test_defined_terms_are_defined_once_and_used_as_defined() -> None:
    texts = {file.stem: file.read_text(encoding="utf-8") for file in clauses.TEXTS.glob("*.md")}
    defined = [term for text in texts.values() for term in DEFINITION.findall(text)]
    assert len(defined) > 10
    assert len(set(defined)) == len(defined)
    used = "\n".join(text for name, text in texts.items() if name != "02-definitions").lower()
    assert [term for term in defined if term.lower() not in used] == []
    operative = {name: text for name, text in texts.items() if name != "00-summary"}
    # The kernel is the candidate: one thing has one name.
    assert [name for name, text in operative.items() if "kernel" in text.lower()] == []
    assert "kernel" not in PROMISE


def test_every_value_that_a_clause_may_use_exists(world: World) -> None:
    contract = world.offered()
    terms = terms_of(contract)
    assert set(values_of(terms, contract.benchmark.document, ends_on=ends_on(terms))) == NAMES
    used = {name for clause in clauses.newest() for name in template.names(clause.text)}
    assert used <= NAMES


def test_clauses_are_numbered_and_refer_to_each_other(world: World) -> None:
    text = terms_of(world.offered())["text"]
    assert [each["number"] for each in text["clauses"]] == list(range(1, len(text["clauses"]) + 1))
    numbers = {each["slug"]: each["number"] for each in text["clauses"]}
    promise = next(each for each in text["clauses"] if each["slug"] == "promise")
    assert f"Clause {numbers['liability']}" in " ".join(promise["paragraphs"])
    assert [each["letter"] for each in text["schedules"]] == list("ABCD")
    assert "special" not in numbers


def test_the_sealed_text_names_the_published_clause_by_its_digest(world: World) -> None:
    for each in terms_of(world.offered())["text"]["clauses"]:
        published = Clause.objects.get(slug=each["slug"], number=each["version"])
        assert published.digest == each["digest"]
        assert published.guidance


def test_a_clause_with_an_unknown_value_or_part_is_declined(world: World) -> None:
    for text, code in (
        ("The {price} is due.", "clause.unknown_value"),
        ("[if price] It is due.", "clause.unknown_value"),
        ("[when law] It applies.", "clause.unreadable"),
        ("The {fee is due.", "clause.unreadable"),
        ("See {clause:gone}.", "clause.no_such_part"),
        ("See {schedule:gone}.", "clause.no_such_part"),
    ):
        with declined(code):
            clauses.publish(slug="extra", title="Extra", text=text, by=world.admin)
    clauses.publish(slug="extra", title="Extra", text="See {clause:special}.", by=world.admin)
    with declined("clause.no_such_part"):
        world.drafted()
