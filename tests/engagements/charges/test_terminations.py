"""A termination: its notice, its calculation, its end of the engagement, and its undoing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements import closing
from engagements.billing import charge_invoices, invoices
from engagements.billing.models import Invoice
from engagements.charges.models import Charge
from engagements.common.working_days import add_working_days
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import cooperation
from engagements.disputes import repeats, services
from engagements.engagement.models import Engagement, Stage
from engagements.ledger.positions import positions_of
from engagements.people.models import Role
from engagements.runs.attempts import outcome_of_run
from engagements.runs.outcomes import Money
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.terminations import services as terminations
from tests.database_constraints import violates
from tests.engagements import story as stories
from tests.engagements.disputes.test_measurement_disputes import repeat, run_of
from tests.engagements.proofs.clock import Clock, turned
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, days, fresh, person, today
from tests.errors import declined
from tests.referee_key import sign


@contextmanager
def at(day: date) -> Iterator[None]:
    """The application believes that it is noon of `day`."""
    clock = Clock()
    clock.pass_days((day - clock.now.date()).days)
    with turned(clock):
        yield


def convenience(world: World, contract: ContractVersion, **changed: Any) -> Charge:
    given: dict[str, Any] = {
        "engagement": contract.engagement,
        "kind": "convenience",
        "notice_on": today(),
        "reason": "The product ended.",
        "by": world.finance,
    }
    return terminations.propose(**given | changed)


def test_the_elapsed_part_is_charged_and_the_engagement_is_terminated(
    world: World, client: Client
) -> None:
    """18,000 of 48,000 are released; of 42 days, as many as from today to the notice's end."""
    contract = world.active(convenience=True)
    world.pay(contract.milestones.get(position=1))
    charge = convenience(world, contract)
    assert convenience(world, contract) == charge
    ends_on = add_working_days(today(), 5)
    passed = (ends_on - contract.starts_on).days + 1
    assert (charge.ends_on, charge.released, charge.elapsed_days) == (ends_on, 18000, passed)
    assert charge.amount == round(Decimal(30000) * passed / 42, 2)
    with declined("termination.notice_running"):
        terminations.approve(charge=charge, by=world.controller)
    with at(ends_on):
        with declined("charge.same_person"):
            terminations.approve(charge=charge, by=world.finance)
        sign_in(client, world.controller)
        page = client.get(reverse("charge", args=[charge.pk])).content.decode()
        assert f"{charge.elapsed_days} of 42 days" in page
        terminations.approve(charge=charge, by=world.controller)
        engagement = fresh(contract.engagement)
        assert engagement.stage == Stage.TERMINATED
        assert [row.state for row in contract.milestones.order_by("position")] == [
            *("billed", "released", "void", "void"),
        ]
        assert not Settlement.objects.exists()
        with declined("engagement.wrong_stage"):
            settlements.propose(contract=contract, reason="missed", by=world.finance)
        finish(world, engagement, charge)


def finish(world: World, engagement: Engagement, charge: Charge) -> None:
    """Bill and pay what is due, and close: nothing is left on the customer's accounts."""
    balances = positions_of(engagement, "EUR").balances
    assert balances["refund_liability"] == balances["fees_deferred"] == 0
    with declined("closing.charge_open"):
        closing.close(engagement=engagement, by=world.finance)
    draft = charge_invoices.draft(charge=charge, by=world.finance)
    invoice = invoices.issue(invoice=draft, by=world.finance)
    world.paid_beyond(invoice, invoice.gross, "P-77")
    with declined("closing.unbilled"):
        closing.close(engagement=engagement, by=world.finance)
    world.pay(charge.contract_version.milestones.get(position=2))
    closing.close(engagement=engagement, by=world.finance)
    assert Invoice.objects.exclude(frozen__type__in=["invoice", "prepayment"]).count() == 0


def test_a_notice_is_of_the_time_of_the_contract_and_of_its_clause(world: World) -> None:
    contract = world.active(convenience=True)
    for outside in (days(-1), days(1)):
        with declined("termination.notice_date"):
            convenience(world, contract, notice_on=today() + outside)
    with declined("termination.no_convenience"):
        convenience(world, world.active(convenience=False))
    charge = convenience(world, contract)
    with declined("termination.recorded"):
        convenience(world, contract, kind="cause")
    row = {
        field.name: getattr(charge, field.name)
        for field in Charge._meta.concrete_fields
        if field.name != "id"
    }
    other = world.active(convenience=True)
    given = row | {"engagement": other.engagement, "contract_version": other}
    for changed, code in (
        ({"notice_on": today() - days(1)}, "charge.notice"),
        ({"amount": charge.amount - 1}, "charge.termination"),
        ({"released": Decimal(0)}, "charge.termination"),
    ):
        with violates(code):
            Charge.objects.bulk_create([Charge(**given | changed)])


def test_a_cause_is_an_item_that_stayed_missing_or_a_breach_without_remedy(world: World) -> None:
    contract = world.active()
    request = cooperation.ask(engagement=contract.engagement, item="Weights", by=world.consultant)
    terminable = add_working_days(today(), 16)
    given: dict[str, Any] = {"kind": "cause", "reason": "No weights."}
    with declined("termination.too_early"):
        convenience(world, contract, request=request, **given)
    with at(terminable):
        with declined("termination.one_cause"):
            convenience(world, contract, **given)
        with declined("termination.too_early"):
            late = today() - days(2)
            convenience(world, contract, breach_noticed_on=late, **given)
        with declined("termination.notice_date"):
            convenience(world, contract, breach_noticed_on=contract.starts_on - days(1), **given)
        charge = convenience(world, contract, request=request, **given)
        assert charge.ends_on == today()
        # The time-box was paused since the third working day.
        paused_from = add_working_days(contract.starts_on, 3)
        assert charge.elapsed_days == (paused_from - contract.starts_on).days
        terminations.approve(charge=charge, by=world.controller)
        assert fresh(contract.engagement).stage == Stage.TERMINATED


def test_the_sweep_waits_for_a_termination_within_the_time_box(world: World) -> None:
    contract = world.active(convenience=True)
    charge = convenience(world, contract)
    with at(contract.starts_on + timedelta(weeks=contract.weeks)):
        assert settlements.propose_after_time_box(engagement=contract.engagement) is None
        terminations.approve(charge=charge, by=world.controller)
        assert settlements.propose_after_time_box(engagement=contract.engagement) is None


def test_a_repeat_that_met_the_target_before_undoes_a_termination() -> None:
    story = stories.active(stories.offered(stories.audited(stories.opened()), attempts=3))
    stories.measured(story, 1.1)
    charge = terminations.propose(
        engagement=story.engagement,
        kind="convenience",
        notice_on=today(),
        reason="The product ended.",
        by=story.finance,
    )
    assert charge.ends_on is not None
    with at(charge.ends_on):
        terminations.approve(charge=charge, by=person("Fiona", Role.FINANCE))
        draft = charge_invoices.draft(charge=charge, by=story.finance)
        invoice = invoices.issue(invoice=draft, by=story.finance)
        assert outcome_of_run(run_of(story)).money == Money.TERMINATED
        dispute = services.raise_dispute(
            run=run_of(story), reason="Busy.", repeater="customer", by=story.signatory
        )
        repeats.upload(dispute=dispute, content=sign(repeat(story, 2.6)), by=story.signatory)
        charge.refresh_from_db()
        assert charge.state == "cancelled"
        assert invoice.credit_notes.get().net == invoice.net
        story.engagement.refresh_from_db()
        assert story.engagement.stage == Stage.MET
        assert not story.contract.milestones.filter(state="void").exists()
        assert outcome_of_run(run_of(story)).money == Money.RELEASED


pytestmark = pytest.mark.django_db
