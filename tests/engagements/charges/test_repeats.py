"""The cost of a repeat is charged where the customer bears it, and no settlement counts it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.billing import charge_invoices, invoices, payments
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.charges import services as charges
from engagements.charges.models import Charge
from engagements.disputes import repeats, services
from engagements.disputes.models import MeasurementDispute
from engagements.people.models import Role
from engagements.runs import attempts
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import violates, write
from tests.engagements import story as stories
from tests.engagements.disputes.test_measurement_disputes import balances, repeat, run_of
from tests.engagements.sessions import sign_in
from tests.engagements.story import Story
from tests.engagements.world import person, today
from tests.errors import declined
from tests.referee_key import sign

pytestmark = pytest.mark.django_db


def disputed(story: Story, *, payer: str = "consultancy") -> MeasurementDispute:
    """The customer's dispute of a missed attempt, which an expert's repeat confirmed."""
    dispute = services.raise_dispute(
        run=run_of(story),
        reason="The machine was busy.",
        repeater="expert",
        expert="Prof. Gauge",
        by=story.signatory,
    )
    return repeats.upload(
        dispute=dispute,
        content=sign(repeat(story, 1.1, noise=0.03)),
        cost=Decimal(900),
        cost_payer=payer,
        by=story.consultant,
    )


@pytest.fixture
def story() -> Story:
    story = stories.active(stories.offered(stories.audited(stories.opened()), attempts=3))
    stories.measured(story, 1.1)
    return story


def test_a_repeat_that_the_customer_bears_is_charged_at_its_cost(
    story: Story, client: Client
) -> None:
    dispute, second = disputed(story), person("Fiona", Role.FINANCE)
    sign_in(client, story.finance)
    page = reverse("run-dispute-finance", args=[story.reference, dispute.run_id])
    client.post(page, {"act": "charge"})
    charge = Charge.objects.get()
    assert charges.propose_repeat(dispute=dispute, by=story.finance) == charge
    assert (charge.amount, charge.kind, charge.proposed_by) == (900, "repeat", story.finance)
    with declined("dispute.charged"):
        services.reimburse(dispute=dispute, reference="INV-9", by=story.finance)
    with violates("charge.repeat"):
        write(charge, amount=Decimal(901))
    charges.approve(charge=charge, by=second)
    draft = charge_invoices.draft(charge=charge, by=story.finance)
    invoice = invoices.issue(invoice=draft, by=story.finance)
    at_risk = balances(story)
    payments.confirm(
        payment=payments.record(
            invoice=invoice,
            amount=invoice.gross,
            received_on=today(),
            reference="P-1",
            by=story.finance,
        ),
        by=second,
    )
    assert balances(story) == at_risk
    # The contract is settled: neither the refund nor the invoice changes by the charge.
    attempts.declare_final(run=run_of(story), by=story.consultant)
    settlement = Settlement.objects.get()
    fee = sum(
        (each.received for each in map(balance_of, Invoice.objects.filter(charge=None))), Decimal(0)
    )
    assert settlement.payments_received == fee
    assert balance_of(invoice).amount_due == 0
    assert not invoice.credit_notes.exists()
    settlements.approve(settlement=settlement, by=story.finance)
    assert not invoice.credit_notes.exists()
    client.force_login(story.viewer)
    shown = client.get(reverse("portal-engagement", args=[story.reference])).content.decode()
    assert invoice.reference in shown
    assert "Repeat of a disputed acceptance run" in shown


def test_a_repeat_that_the_customer_paid_is_not_charged(story: Story) -> None:
    dispute = disputed(story, payer="customer")
    with declined("charge.no_repeat_owed"):
        charges.propose_repeat(dispute=dispute, by=story.finance)
