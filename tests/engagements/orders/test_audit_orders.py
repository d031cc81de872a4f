"""The audit order: sealed, accepted by a signatory, and billed where no contract follows."""

from __future__ import annotations

import json
from decimal import Decimal
from io import BytesIO

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from benchmarks.records.canonical import digest_of_bytes
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.billing import credit_notes, invoices
from engagements.billing.models import Invoice
from engagements.documents import issuing
from engagements.documents.models import Document
from engagements.ledger import chart
from engagements.ledger.positions import positions_of
from engagements.notifications.models import Mail
from engagements.orders import services as orders
from engagements.orders.models import AuditOrder
from tests.database_constraints import delete, violates, write
from tests.engagements.accessibility import errors_of
from tests.engagements.pdf_text import words
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, days, fresh, today
from tests.errors import declined

OUTCOMES = {"redirect": ("pass", "pass", *["fail"] * 4), "decline": ["fail"] * 6}


def offered(world: World) -> AuditOrder:
    audit = world.auditing()
    return orders.offer(
        engagement=audit.engagement,
        valid_until=today() + days(14),
        payment_days=14,
        by=world.consultant,
    )


def accepted(world: World) -> AuditOrder:
    order = offered(world)
    return orders.accept(order=order, typed_name="Sigrid", digest=order.digest, by=world.signatory)


def delivered(world: World, order: AuditOrder, outcome: str) -> AuditOrder:
    audit = world.answer(order.engagement.audit, *OUTCOMES[outcome])
    audits.deliver(audit=audit, by=world.consultant)
    return order


def unbilled(order: AuditOrder) -> Decimal:
    return positions_of(order.engagement, "EUR").balance(chart.AUDIT_UNBILLED)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_audit_that_leads_to_no_contract_is_billed_by_its_order(
    client: Client, world: World, outcome: str
) -> None:
    order = delivered(world, accepted(world), outcome)
    assert unbilled(order) == 6000
    client.force_login(world.finance)
    page = client.get(reverse("to-bill")).content.decode()
    url = reverse("order-bill", args=[order.engagement.reference])
    assert url in page
    for _ in range(2):
        client.post(url)
    draft = Invoice.objects.get()
    invoice = invoices.issue(invoice=draft, by=world.finance)
    assert (invoice.net, invoice.gross, invoice.reference[:3]) == (6000, 7140, "INV")
    assert invoice.frozen is not None
    assert invoice.frozen["audit_order"]["digest"] == order.digest
    assert invoice.due_on == today() + days(14)
    assert unbilled(order) == 0
    world.paid_beyond(invoice, invoice.gross, "P-1")
    balances = positions_of(order.engagement, "EUR").balances
    assert {code: int(value) for code, value in balances.items() if value} == {
        "suspense": 7140,
        "audit_revenue": -6000,
        "output_tax": -1140,
    }
    with declined("invoice.order_not_due"):
        invoices.draft_order(order=order, by=world.finance)
    assert client.get(reverse("invoice", args=[invoice.pk])).status_code == 200
    assert client.get(reverse("vat")).status_code == 200
    document = issuing.issue(kind="invoice", subject=f"invoice:{invoice.pk}")
    assert "Audit order 1" in words(PdfReader(BytesIO(document.content)))
    assert errors_of(bytes(document.content)) == []


def test_a_credited_order_is_billed_again_or_waived(world: World) -> None:
    order = delivered(world, accepted(world), "decline")
    invoice = invoices.draft_order(order=order, by=world.finance)
    invoices.issue(invoice=invoice, by=world.finance)
    with declined("invoice.order_not_due"):
        invoices.draft_order(order=order, by=world.finance)
    credit_notes.credit(invoice=invoice, reason="Agreed", net=Decimal(1000))
    # The part that was credited is waived; the order is not billed in full once more.
    with declined("invoice.order_billed"):
        invoices.draft_order(order=order, by=world.finance)
    credit_notes.credit(invoice=invoice, reason="Wrong address")
    assert unbilled(order) == 6000
    again = invoices.draft_order(order=order, by=world.finance)
    audits.waive(audit=order.engagement.audit, reason="Goodwill", by=world.finance)
    with declined("invoice.order_not_due"):
        invoices.issue(invoice=again, by=world.finance)
    assert unbilled(order) == 0


def test_an_order_is_billed_only_when_accepted_and_without_a_contract(world: World) -> None:
    order = offered(world)
    with declined("invoice.order_not_due"):
        invoices.draft_order(order=order, by=world.finance)
    delivered(world, order, "decline")
    with declined("invoice.order_not_accepted"):
        invoices.draft_order(order=order, by=world.finance)
    draft = Invoice.objects.create(
        engagement=order.engagement,
        audit_order=order,
        customer=world.customer,
        currency="EUR",
        net=6000,
        tax=0,
        gross=6000,
    )
    with violates("invoiceline.order"):
        draft.lines.create(position=1, title="Audit", net=6000, tax_rate_percent=0, tax=0)
    with violates("invoice_bills_a_contract_or_an_order"):
        write(draft, audit_order=None)
    custom = accepted(world)
    world.audited(engagement=None)
    audits.deliver(audit=_passing(world, custom), by=world.consultant)
    assert fresh(custom.engagement).stage == "audited"
    with declined("invoice.order_not_due"):
        invoices.draft_order(order=custom, by=world.finance)


def _passing(world: World, order: AuditOrder) -> Audit:
    return world.answer(order.engagement.audit, *["pass"] * 6)


def test_a_signatory_accepts_exactly_the_sealed_terms(world: World) -> None:
    order = offered(world)
    assert digest_of_bytes(bytes(order.canonical)) == order.digest
    terms = json.loads(bytes(order.canonical))
    assert (terms["price"], terms["gross"], terms["tax_rate_percent"]) == (
        "6000.00",
        "7140.00",
        "19.00",
    )
    for by, code in (
        (world.viewer, "access.signatories_only"),
        (world.consultant, "access.signatories_only"),
        (world.stranger, "access.signatories_only"),
    ):
        with declined(code):
            orders.accept(order=order, typed_name="Sigrid", digest=order.digest, by=by)
    with declined("order.other_digest"):
        orders.accept(order=order, typed_name="Sigrid", digest="sha256:0", by=world.signatory)
    with violates("auditorder.signatory"):
        write(
            order,
            state="accepted",
            accepted_by=world.consultant,
            accepted_at=timezone.now(),
            accepted_digest=order.digest,
            typed_name="Sigrid",
        )
    with violates("auditorder.sealed"):
        write(order, price=1)
    with violates("auditorder.deletion"):
        delete(order)
    for _ in range(2):
        row = orders.accept(
            order=order, typed_name="Sigrid", digest=order.digest, by=world.signatory
        )
    assert row.state == "accepted"
    assert order.engagement.events.filter(verb="audit_order.accepted").count() == 1
    subjects = set(Mail.objects.filter(recipient=world.signatory.email).values_list("key"))
    # The opening, the offer and the acceptance.
    assert len(subjects) == 3
    with declined("validation.state"):
        orders.withdraw(order=order, reason="x", by=world.consultant)


def test_an_expired_order_is_not_accepted_and_another_is_offered_once_withdrawn(
    world: World,
) -> None:
    order = offered(world)
    with declined("order.open"):
        orders.offer(
            engagement=order.engagement,
            valid_until=today() + days(3),
            payment_days=14,
            by=world.consultant,
        )
    orders.withdraw(order=order, reason="Another price", by=world.consultant)
    with declined("validation.state"):
        orders.accept(order=order, typed_name="Sigrid", digest=order.digest, by=world.signatory)
    with declined("order.expired"):
        orders.offer(
            engagement=order.engagement,
            valid_until=today() - days(1),
            payment_days=14,
            by=world.consultant,
        )


def test_the_order_s_documents_carry_its_seal(world: World) -> None:
    order = accepted(world)
    for act in ("", ":accepted"):
        document = issuing.issue(kind="audit_order", subject=f"audit_order:{order.pk}{act}")
        assert document.seal == order.digest
    shown = " ".join(words(PdfReader(BytesIO(document.content))).split())
    assert "Sigrid accepted exactly these terms" in shown
    assert Document.objects.count() == 2


def test_the_customer_accepts_in_the_portal_and_another_customer_finds_nothing(
    client: Client, world: World
) -> None:
    order = offered(world)
    reference = order.engagement.reference
    page = reverse("portal-audit-order", args=[reference])
    accept = reverse("portal-audit-order-accept", args=[reference, order.number])
    decline = reverse("portal-audit-order-decline", args=[reference, order.number])
    form = {"typed_name": "Sigrid", "agreed": "on", "digest": order.digest, "reason": "x"}
    sign_in(client, world.stranger)
    assert client.get(page).status_code == 404
    assert {client.post(url, form).status_code for url in (accept, decline)} == {404}
    sign_in(client, world.viewer)
    assert accept not in client.get(page).content.decode()
    assert {client.post(url, form).status_code for url in (accept, decline)} == {403}
    sign_in(client, world.signatory)
    assert page in client.get(reverse("portal-engagement", args=[reference])).content.decode()
    assert order.digest in client.get(page).content.decode()
    assert client.post(accept, {**form, "agreed": ""}).status_code == 422
    assert client.post(accept, form).status_code == 302
    order.refresh_from_db()
    assert (order.state, order.typed_name, order.accepted_by) == (
        "accepted",
        "Sigrid",
        world.signatory,
    )


def test_a_consultant_offers_and_withdraws_on_a_page(client: Client, world: World) -> None:
    engagement = world.auditing().engagement
    page = reverse("audit-order", args=[engagement.reference])
    offer = reverse("audit-order-offer", args=[engagement.reference])
    form = {"valid_until": str(today() + days(9)), "payment_days": "30"}
    client.force_login(world.stranger)
    assert client.get(page).status_code == 404
    assert client.post(offer, form).status_code == 404
    client.force_login(world.consultant)
    assert offer in client.get(page).content.decode()
    assert client.post(offer, {**form, "payment_days": "999"}).status_code == 422
    assert client.post(offer, form).status_code == 302
    order = AuditOrder.objects.get()
    assert (order.state, order.payment_days) == ("offered", 30)
    withdraw = reverse("audit-order-withdraw", args=[engagement.reference, order.number])
    assert client.post(withdraw, {"reason": "Another price"}).status_code == 302
    assert client.get(page).status_code == 200
    order.refresh_from_db()
    assert order.state == "withdrawn"
