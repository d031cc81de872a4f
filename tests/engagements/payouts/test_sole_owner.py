"""The owner of a team of one approves alone where the operator allows it, and it is shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core import management
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import (
    credit_note_drafts,
    csv_confirmations,
    payments,
    reversals,
    write_offs,
)
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.charges import services as charges
from engagements.common.errors import ApplicationError
from engagements.finance import grants, sole_approval_views
from engagements.ledger import periods
from engagements.payouts import overpayment_refunds, refunds
from engagements.people import second_person
from engagements.people.approval_models import SoleApproval
from engagements.people.models import Role, User
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import violates
from tests.engagements.charges.test_charges import maintained, maintenance
from tests.engagements.payouts.test_csv_confirmations import csv
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, today, undone
from tests.errors import declined

Steps = dict[str, Callable[[User], Any]]


def test_nobody_approves_alone_unless_the_operator_allows_a_sole_owner(
    client: Client, world: World
) -> None:
    row = _settlement(world)
    settlements.approve(settlement=row, by=world.finance)
    now = timezone.now()
    with declined("second_person.required"):
        second_person.approve_alone(subject=row.subject, by=world.finance, second_factor_at=now)
    with violates("soleapproval.sole_owner"):
        SoleApproval.objects.create(subject=row.subject, by=world.finance, second_factor_at=now)
    management.call_command("sole_owner", world.finance.email)
    url = reverse("approve-alone", args=[row.subject])
    sign_in(client, world.finance)
    assert client.post(url)["Location"] == reverse("mfa_index")
    for kind in sole_approval_views.PAGES:
        # Nothing is approved before it is proposed.
        assert client.post(reverse("approve-alone", args=[f"{kind}:999999"])).status_code == 404
    assert not SoleApproval.objects.exists()
    second_person.approve_alone(subject=row.subject, by=world.finance, second_factor_at=now)
    refunds.start_payment(settlement=row, by=world.finance)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert f'data-sole-approval="{row.subject}"' in page
    with pytest.raises(management.CommandError):
        management.call_command("sole_owner")


def test_a_sole_owner_completes_every_step_of_two_people(client: Client, world: World) -> None:
    owner = world.finance
    steps, month = _proposed(world, owner)
    management.call_command("sole_owner", owner.email)
    sign_in(client, owner)
    for subject, step in steps.items():
        page = client.post(reverse("approve-alone", args=[subject]))
        assert page["Location"] == reverse("mfa_index"), "each asks for a second factor"
        _alone(subject, step, owner)
    reopening = periods.propose_reopening(period=month, reason="x", by=owner)
    _alone(
        reopening.subject,
        lambda by: periods.approve_reopening(reopening=reopening, by=by),
        owner,
    )
    kinds = {key.split(":")[0] for key in SoleApproval.objects.values_list("subject", flat=True)}
    assert kinds | {"settlement", "measurement_dispute"} == set(sole_approval_views.PAGES)
    assert User.objects.get(pk=world.nobody.pk).role == Role.FINANCE
    [invoice] = Invoice.objects.filter(write_offs__isnull=False)
    shown = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert 'data-sole-approval="write_off:' in shown


def _settlement(world: World) -> Settlement:
    invoice = world.invoice(world.active().milestones.get(position=1))
    payments.confirm(payment=_keyed(invoice, invoice.gross, world.finance), by=world.controller)
    assert invoice.contract_version is not None
    world.conclude(world.request(invoice.contract_version), "missed")
    return Settlement.objects.get()


def _keyed(invoice: Invoice, amount: Decimal, by: User) -> Payment:
    return payments.record(
        invoice=invoice,
        amount=amount,
        received_on=today(),
        reference=f"P-{amount}",
        by=by,
        may_exceed=True,
    )


def _proposed(world: World, owner: User) -> tuple[Steps, periods.Period]:
    """What the owner proposed and another person completes, and the month to close."""
    over, other = (world.invoice(world.active().milestones.get(position=1)) for _ in range(2))
    payments.confirm(payment=_keyed(over, over.gross + 1, owner), by=world.controller)
    refund = overpayment_refunds.propose(invoice=over, amount=Decimal(1), by=owner)
    kept, wrong = _keyed(other, Decimal(9), owner), _keyed(other, Decimal(8), owner)
    reversal = reversals.propose(
        payment=wrong, cause="mistyped", reason="x", dated_on=today(), by=owner
    )
    loss = write_offs.propose(
        invoice=other, kind="bad_debt", amount=Decimal(99), reason="x", by=owner
    )
    last = (today().replace(day=1) - timedelta(days=1)).replace(day=1)
    month = periods.propose(month=last, checklist=[], note="", by=owner)
    grant = grants.confirm(grant=grants.propose(user=world.nobody, by=world.admin), by=owner)
    file = csv(world, ("5.00", "x"), by=owner)
    charge = maintenance(world, maintained(world), by=owner)
    note = credit_note_drafts.draft(invoice=over, net=Decimal(2000), reason="x", by=owner)
    return {
        file.subject: lambda by: csv_confirmations.confirm(bank_import=file, by=by),
        refund.subject: lambda by: overpayment_refunds.send(refund=refund, by=by),
        charge.subject: lambda by: charges.approve(charge=charge, by=by),
        kept.subject: lambda by: payments.confirm(payment=kept, by=by),
        loss.subject: lambda by: write_offs.approve(write_off=loss, by=by),
        reversal.subject: lambda by: reversals.approve(reversal=reversal, by=by),
        month.subject: lambda by: periods.approve(period=month, checklist=[], by=by),
        grant.subject: lambda by: grants.confirm(grant=grant, by=by),
        note.subject: lambda by: credit_note_drafts.issue(note=note, by=by),
    }, month


def _alone(subject: str, step: Callable[[User], Any], owner: User) -> None:
    """Take the step: without the sole approval it is declined, or changes nothing."""
    with undone():
        code = ""
        try:
            answer = step(owner)
        except ApplicationError as error:
            code = error.code
        assert code.endswith(".same_person") if code else answer.granted_by is None
    second_person.approve_alone(subject=subject, by=owner, second_factor_at=timezone.now())
    step(owner)
