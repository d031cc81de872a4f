"""Concurrent changes of a contract, on real connections: one succeeds."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

import pytest

from engagements.contracts import amendments, offers
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.time_box import hours, warnings
from engagements.contracts.time_box.models import TimeBox, TimeBoxWarning, TimeEntry
from engagements.engagement.models import Engagement, Stage
from engagements.notifications import mails
from engagements.notifications.models import Mail
from engagements.runs.models import EngagementRun
from tests.engagements.concurrency import errors_in, run_concurrently
from tests.engagements.contracts.amendment_steps import amended
from tests.engagements.world import World, days, today

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None, world: World) -> World:
    """Committed, so that other connections see it."""
    return world


def test_two_signatories_at_once_accept_once(world: World) -> None:
    contract = world.offered()
    other = world.also_signs("Second")
    run_concurrently(
        lambda: world.accept(contract, Party.CUSTOMER),
        lambda: world.accept(contract, Party.CUSTOMER, by=other, typed_name=other.name),
    )
    assert Acceptance.objects.filter(party=Party.CUSTOMER).count() == 1
    assert contract.engagement.events.filter(verb="contract.accepted").count() == 1


def test_an_offer_is_accepted_or_withdrawn_and_never_both(world: World) -> None:
    contract = world.offered()
    world.accept(contract, Party.CONSULTANCY)
    results = run_concurrently(
        lambda: world.accept(contract, Party.CUSTOMER),
        lambda: offers.withdraw(contract=contract, reason="No.", by=world.consultant),
    )
    assert len(errors_in(results)) == 1
    contract.refresh_from_db()
    stage = Engagement.objects.get(pk=contract.engagement_id).stage
    assert (contract.state, stage) in {("accepted", Stage.ACTIVE), ("withdrawn", Stage.AUDITED)}
    assert TimeBox.objects.exists() is (contract.state == "accepted")


def test_an_offer_is_declined_or_withdrawn_once(world: World) -> None:
    contract = world.offered()
    results = run_concurrently(
        lambda: offers.decline(contract=contract, reason="No.", by=world.signatory),
        lambda: offers.withdraw(contract=contract, reason="No.", by=world.consultant),
    )
    assert len(errors_in(results)) == 1
    ended = contract.engagement.events.filter(verb__in=["contract.declined", "contract.withdrawn"])
    assert ended.count() == 1


def test_an_amendment_and_a_run_at_once_never_mix_their_terms(world: World) -> None:
    contract = world.active()
    offered = amended(world, contract, weeks=8)
    world.accept(offered, Party.CUSTOMER)
    run_concurrently(
        lambda: world.accept(offered, Party.CONSULTANCY),
        lambda: world.request(contract),
    )
    in_force = ContractVersion.objects.get(state="accepted")
    asked = EngagementRun.objects.get()
    # Either the run came first and holds the amendment up, or it is under the new version.
    assert asked.contract_version == in_force
    world.conclude(asked, "met")
    assert Engagement.objects.get(pk=contract.engagement_id).stage == Stage.MET


def test_two_amendments_drafted_at_once_leave_one(world: World) -> None:
    engagement = world.active().engagement
    results = run_concurrently(
        *(
            lambda weeks=weeks: amendments.draft(
                engagement=engagement,
                change="more_time",
                reason="So.",
                by=world.consultant,
                weeks=weeks,
            )
            for weeks in (7, 8)
        )
    )
    assert len(errors_in(results)) == 1
    assert engagement.contracts.count() == 2


def test_a_warning_is_mailed_once_however_many_sweeps_run(world: World) -> None:
    engagement = world.active().engagement
    box = TimeBox.objects.get(engagement=engagement)
    box.starts_on, box.ends_on = box.starts_on - days(25), box.ends_on - days(25)
    box.save()
    run_concurrently(*[lambda: warnings.warn(engagement=engagement)] * 3)
    assert TimeBoxWarning.objects.count() == 1
    assert Mail.objects.filter(key__startswith="time_box:").count() == 1


def test_a_mail_is_sent_once_however_many_workers_send_it(
    world: World, mailoutbox: list[object]
) -> None:
    engagement = world.scoping()
    mail = mails.write(
        key="k", engagement=engagement, recipient=world.consultant.email, subject="s", body="b"
    )
    sent = run_concurrently(*[lambda: mails.send(mail_id=mail.pk)] * 3)
    assert sorted(sent) == [False, False, True]
    assert len(mailoutbox) == 1


def test_texts_published_at_once_get_numbers_of_their_own(world: World) -> None:
    run_concurrently(
        *(
            lambda text=text: clauses.publish(slug="x", title="X", text=text, by=world.admin)
            for text in ("One.", "Two.", "Three.")
        )
    )
    numbers = Clause.objects.filter(slug="x").order_by("number").values_list("number", flat=True)
    assert list(numbers) == [1, 2, 3]


def test_a_day_never_gets_more_than_24_hours(world: World) -> None:
    engagements = [world.active().engagement for _ in range(2)]
    results = run_concurrently(
        *(
            lambda engagement=engagement: hours.add(
                engagement=engagement,
                worked_on=today(),
                hours=Decimal(15),
                note="Tiles.",
                request_key=uuid4(),
                by=world.consultant,
            )
            for engagement in engagements
        )
    )
    assert len(errors_in(results)) == 1
    assert TimeEntry.objects.count() == 1
