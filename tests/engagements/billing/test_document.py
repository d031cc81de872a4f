"""Documents of invoices and credit notes: frozen facts as PDF and as an e-invoice."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from importlib.resources import as_file, files
from typing import Any

import pytest
from lxml import etree
from pypdf import PdfReader

from engagements import documents
from engagements.billing import credit_notes, invoices
from engagements.billing.models import Invoice
from engagements.contracts.drafting import MilestoneDraft
from engagements.documents import registry
from engagements.documents.models import Document
from engagements.documents.registry import Subject
from tests.engagements.contracts.amendment_steps import amended, in_force
from tests.engagements.pdf_text import attached, words
from tests.engagements.world import World
from tests.errors import declined

Issue = Callable[[str, str], PdfReader]
D = Decimal
RAM = "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
REVERSE = "Reverse charge: the recipient owes the tax (Article 196 of Directive 2006/112/EC)."


@pytest.fixture
def world(db: None) -> World:
    return World()


def issued_invoice(world: World, *positions: int, **terms: Any) -> Invoice:
    parts = world.active(**terms).milestones.filter(position__in=positions or (1, 2))
    return world.invoice(*parts.order_by("position"))


def read(paper: PdfReader) -> etree._Element:
    """The e-invoice inside, checked against the profile's schema."""
    xml = attached(paper)["factur-x.xml"]
    with as_file(files("drafthorse") / "schema") as folder:
        schema = etree.XMLSchema(file=str(folder / "Factur-X_1.0.07_EN16931.xsd"))
        tree = etree.fromstring(xml)
        schema.assertValid(tree)
    return tree


def texts(tree: etree._Element, name: str) -> list[str]:
    """The texts of every element of this name."""
    return [str(element.text) for element in tree.iter(f"{{{RAM}}}{name}")]


def test_the_pdf_and_its_e_invoice_state_the_same_figures(world: World, issued: Issue) -> None:
    invoice = issued_invoice(world)
    paper = issued("invoice", f"invoice:{invoice.pk}")
    text = words(paper)
    for each in (
        invoice.reference,
        "Longprompt AG",
        "Germany",
        "12,000.00",
        "18,000.00",
        "21,420.00",
        "DE89 3704 0044 0532 0130 00",
    ):
        assert each in text
    tree = read(paper)
    assert texts(tree, "TypeCode")[0] == "380"
    assert [D(net) for net in texts(tree, "LineTotalAmount")] == [D(12000), D(6000), invoice.net]
    assert texts(tree, "TaxTotalAmount") == [str(D("3420.00"))]
    assert texts(tree, "GrandTotalAmount") == texts(tree, "DuePayableAmount") == ["21420.00"]
    assert texts(tree, "PaymentReference") == [invoice.reference]
    assert (texts(tree, "PostcodeCode")[1], texts(tree, "CityName")[1]) == ("10115", "Berlin")
    root: Any = paper.trailer["/Root"]
    assert root["/AF"][0].get_object()["/AFRelationship"] == "/Alternative"
    metadata = root["/Metadata"].get_data().decode()
    assert 'pdfaid:part="3" pdfaid:conformance="A"' in metadata
    assert "<fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>" in metadata


def test_reverse_charge_says_its_sentence_to_people_and_machines(
    world: World, issued: Issue
) -> None:
    world.customer.vat_id = "FR40303265045"
    world.customer.save()
    invoice = issued_invoice(
        world, tax_rate_percent=D(0), tax_treatment="reverse_charge", tax_note=REVERSE
    )
    paper = issued("invoice", f"invoice:{invoice.pk}")
    assert invoice.tax == 0
    assert REVERSE in words(paper)
    tree = read(paper)
    assert texts(tree, "ExemptionReason") == [REVERSE]
    assert texts(tree, "ExemptionReasonCode") == ["VATEX-EU-AE"]
    assert set(texts(tree, "CategoryCode")) == {"AE"}


def test_a_line_of_an_earlier_contract_version_names_it(world: World, issued: Issue) -> None:
    first = world.active()
    second = in_force(world, amended(world, first, weeks=8))
    world.conclude(world.request(second), "met")
    audit = first.milestones.get(condition="audit_delivered")
    target = second.milestones.get(condition="target_met")
    invoice = world.invoice(audit, target)
    assert invoice.frozen is not None
    assert [line["contract_version"] for line in invoice.frozen["lines"]] == [1, 2]
    text = words(issued("invoice", f"invoice:{invoice.pk}"))
    # The invoice is of version 2, and its first line of version 1.
    assert text.count("Contract version 1") == text.count("Contract version 2") == 1


def test_a_credit_note_names_what_it_corrects(world: World, issued: Issue) -> None:
    invoice = issued_invoice(world)
    note = credit_notes.credit(invoice=invoice, net=D("6000"), reason="The audit was free.")
    paper = issued("credit_note", f"invoice:{note.pk}")
    text = words(paper)
    assert invoice.reference in text
    assert "The audit was free." in text
    tree = read(paper)
    assert texts(tree, "TypeCode")[0] == "381"
    assert texts(tree, "GrandTotalAmount") == ["7140.00"]
    assert invoice.reference in texts(tree, "IssuerAssignedID")


def test_outside_the_eu_e_invoices_are_sent_on_request(world: World) -> None:
    world.customer.country = "GB"
    world.customer.save()
    plain = issued_invoice(world)
    assert not registry.kind_of("invoice").compose(subject_of(plain)).enclosures
    world.customer.wants_e_invoice = True
    world.customer.save()
    asked = issued_invoice(world)
    assert registry.kind_of("invoice").compose(subject_of(asked)).enclosures
    # What was issued before keeps what it was issued with.
    assert not registry.kind_of("invoice").compose(subject_of(plain)).enclosures


@pytest.mark.parametrize(
    ("currency", "fee", "gross", "is_electronic"),
    [
        *(("JPY", "100001", "119,001", True), ("KWD", "1000.001", "1,190.001", False)),
        ("KWD", "1000.000", "1,190.000", False),
    ],
)
def test_amounts_have_the_digits_of_their_currency(
    world: World, currency: str, fee: str, gross: str, is_electronic: bool
) -> None:
    part = MilestoneDraft("All", D(fee), "signed")
    terms = {"currency": currency, "fee": D(fee), "audit_cost": D(1), "milestones": [part]}
    paper = registry.kind_of("invoice").compose(subject_of(issued_invoice(world, 1, **terms)))
    assert paper.context["gross"] == gross
    # EN 16931 has no amounts with three decimals.
    assert bool(paper.enclosures) == is_electronic


def test_a_document_stays_as_it_was_whatever_becomes_of_the_customer(world: World) -> None:
    invoice = issued_invoice(world)
    first = documents.issue(kind="invoice", subject=f"invoice:{invoice.pk}")
    world.customer.name, world.customer.address = "Other AG", "Elsewhere 2"
    world.customer.save()
    again = registry.kind_of("invoice").compose(subject_of(invoice))
    assert again.context["buyer"]["name"] == "Longprompt AG"
    assert documents.issue(kind="invoice", subject=f"invoice:{invoice.pk}").pk == first.pk
    assert Document.objects.filter(kind="invoice").count() == 1


def test_a_draft_has_no_document(world: World) -> None:
    part = world.active().milestones.get(position=1)
    drafted = invoices.draft(milestones=[part], by=world.finance)
    with declined("invoice.not_issued"):
        registry.kind_of("invoice").compose(subject_of(drafted))


def test_what_is_issued_is_due_until_it_has_its_document(world: World) -> None:
    invoice = issued_invoice(world)
    note = credit_notes.credit(invoice=invoice, reason="Wrong.")
    assert list(registry.kind_of("invoice").due()) == [subject_of(invoice)]
    assert list(registry.kind_of("credit_note").due()) == [subject_of(note)]
    documents.issue(kind="invoice", subject=f"invoice:{invoice.pk}")
    assert not list(registry.kind_of("invoice").due())


def subject_of(invoice: Invoice) -> Subject:
    return Subject("invoice", invoice.pk)
