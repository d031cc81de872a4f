"""Charges beside the fee: two people, their clause, their own invoice, and no settlement."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import closing
from engagements.billing import charge_invoices, credit_notes, invoices
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.charges import services as charges
from engagements.charges.models import Charge
from engagements.contracts.milestones import services as milestones
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.ledger.models import MonthTotal
from engagements.ledger.positions import positions_of
from engagements.payouts import overpayments
from tests.database_constraints import violates, write
from tests.engagements.world import World, fresh, today
from tests.errors import declined


def maintained(world: World) -> ContractVersion:
    """A met contract with maintenance at 1,000 a month, handed over today."""
    contract = world.met(maintenance_fee=Decimal(1000))
    milestones.accept_handover(engagement=contract.engagement, by=world.signatory)
    return ContractVersion.objects.get(pk=contract.pk)


def maintenance(world: World, contract: ContractVersion, **changed: Any) -> Charge:
    given: dict[str, Any] = {
        "engagement": contract.engagement,
        "month": today(),
        "amount": Decimal(1000),
        "reason": "New driver.",
        "by": world.finance,
    }
    return charges.propose_maintenance(**given | changed)


def billed(world: World, charge: Charge) -> Invoice:
    approved = charges.approve(charge=charge, by=world.controller)
    draft = charge_invoices.draft(charge=approved, by=world.finance)
    return invoices.issue(invoice=draft, by=world.finance)


def balance(contract: ContractVersion, account: str) -> Decimal:
    rows = MonthTotal.objects.filter(engagement=contract.engagement, account__code=account)
    return sum((row.debit - row.credit for row in rows), Decimal(0))


def test_maintenance_is_charged_once_a_month_after_the_handover(
    world: World, client: Client
) -> None:
    early = world.met(maintenance_fee=Decimal(1000))
    with declined("charge.outside_maintenance"):
        maintenance(world, early)
    with declined("charge.no_maintenance"):
        maintenance(world, world.met())
    contract = maintained(world)
    with declined("charge.exceeds_fee"):
        maintenance(world, contract, amount=Decimal("1000.01"))
    for outside in (timedelta(days=-40), timedelta(days=40)):
        with declined("charge.outside_maintenance"):
            maintenance(world, contract, month=today() + outside)
    client.force_login(world.finance)
    page = reverse("charges")
    assert "not charged yet" in client.get(page).content.decode()
    charge = maintenance(world, contract)
    assert maintenance(world, contract) == charge
    assert f"charged until {today():%B %Y}" in client.get(page).content.decode()
    with declined("charge.month_charged"):
        maintenance(world, contract, amount=Decimal(900))
    charges.void(charge=charge, reason="Too much.", by=world.finance)
    assert maintenance(world, contract, amount=Decimal(900)).pk != charge.pk


def test_two_people_charge_and_the_database_holds_the_clause(world: World) -> None:
    contract = maintained(world)
    charge = maintenance(world, contract)
    with declined("charge.same_person"):
        charges.approve(charge=charge, by=world.finance)
    with violates("charge.approved_by_another"):
        write(charge, state="approved", approved_by=world.finance, decided_at=timezone.now())
    with violates("charge.terms"):
        write(charge, amount=Decimal(1))
    row = {name: getattr(charge, name) for name in ("engagement", "contract_version", "reason")}
    given = row | {"title": "x", "proposed_by": world.finance, "kind": "maintenance"}
    month = (charge.month or today()) + timedelta(days=31)
    for changed in ({"amount": Decimal("1000.01")}, {"amount": 1, "month": date(2020, 1, 1)}):
        with violates("charge.maintenance"):
            Charge.objects.bulk_create(
                [Charge(**{**given, "month": month.replace(day=1)} | changed)]
            )
    with violates("charge.repeat"):
        dispute: Any = {"kind": "repeat", "dispute_id": 1, "amount": 1}
        Charge.objects.bulk_create([Charge(**given | dispute)])
    with violates("engagement.termination"):
        running = world.active().engagement
        write(running, stage="terminated")


def test_a_charge_is_billed_once_by_an_invoice_of_its_own(world: World) -> None:
    contract = maintained(world)
    charge = maintenance(world, contract)
    with declined("invoice.charge_not_due"):
        charge_invoices.draft(charge=charge, by=world.finance)
    invoice = billed(world, charge)
    assert (invoice.net, invoice.tax, invoice.charge_id) == (1000, 190, charge.pk)
    assert invoice.frozen is not None
    assert invoice.frozen["type"] == "invoice"
    assert balance(contract, "charge_revenue") == -1000
    with declined("invoice.charge_billed"):
        charge_invoices.draft(charge=charge, by=world.finance)
    with violates("invoiceline.charge_once"):
        again = Invoice.objects.create(
            **{name: getattr(invoice, name) for name in ("engagement", "contract_version")},
            **{name: getattr(invoice, name) for name in ("customer", "charge", "currency")},
            **{name: getattr(invoice, name) for name in ("net", "tax", "gross")},
        )
        again.lines.create(position=1, title="x", net=1000, tax_rate_percent=19, tax=190)
    with declined("closing.unpaid"):
        milestone = contract.milestones.get(position=3)
        world.pay(milestone)
        world.pay(contract.milestones.get(position=4))
        closing.close(engagement=contract.engagement, by=world.finance)
    credit_notes.credit(invoice=invoice, reason="Wrong.")
    assert balance(contract, "charge_revenue") == 0
    assert list(charge_invoices.charges_to_bill()) == [Charge.objects.get(pk=charge.pk)]
    with declined("closing.charge_open"):
        closing.close(engagement=contract.engagement, by=world.finance)
    charge_invoices.cancel(charge=charge, reason="Wrong month.", by=world.finance)
    closing.close(engagement=contract.engagement, by=world.finance)
    # The next month opens it again.
    billed(world, maintenance(world, contract))
    assert fresh(contract.engagement).stage == Stage.MET


def test_an_overpaid_charge_does_not_touch_the_fee(world: World) -> None:
    contract = maintained(world)
    fee = positions_of(contract.engagement, "EUR").balances
    invoice = billed(world, maintenance(world, contract))
    world.paid_beyond(invoice, Decimal(1500), "P-9")
    other = world.invoice(contract.milestones.get(position=3))
    overpayments.move(
        invoice=invoice, to=other, amount=Decimal(310), reference="M-1", by=world.finance
    )
    assert balance_of(invoice).open_amount == 0
    credit_notes.credit(invoice=other, reason="x")
    now = positions_of(contract.engagement, "EUR").balances
    assert fee["refund_liability"] == now["refund_liability"] == 0
    assert balance(contract, "charge_revenue") == -1000


def test_the_wrong_customer_and_the_wrong_role_see_no_charge(world: World, client: Client) -> None:
    charge = maintenance(world, maintained(world))
    pages = [reverse(f"charge{step}", args=[charge.pk]) for step in ("", "-approve", "-end")]
    for who, answer in (("stranger", 404), ("signatory", 404), ("consultant", 403)):
        client.force_login(getattr(world, who))
        assert client.get(pages[0]).status_code == client.get(reverse("charges")).status_code
        assert {client.get(pages[0]).status_code} == {answer}
        assert {client.post(page).status_code for page in pages[1:]} == {answer}
    charges.approve(charge=charge, by=world.controller)
    engagement = reverse("portal-engagement", args=[charge.engagement.reference])
    client.force_login(world.stranger)
    assert client.get(engagement).status_code == 404
    client.force_login(world.signatory)
    assert charge.title in client.get(engagement).content.decode()


@pytest.mark.parametrize("who", ["consultant", "admin", "signatory"])
def test_only_finance_approves(world: World, who: str) -> None:
    charge = maintenance(world, maintained(world))
    with declined("access.finance_only"):
        charges.approve(charge=charge, by=getattr(world, who))
