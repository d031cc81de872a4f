"""The clock stops two working days after a request, until the customer provides the item."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.models import ContractVersion
from engagements.contracts.summary import contract_summary_of
from engagements.contracts.time_box import cooperation
from engagements.contracts.time_box.models import CooperationRequest, TimeBox
from engagements.contracts.time_box.waiting import paused_from, terminable_from
from engagements.engagement.models import Engagement
from engagements.notifications.models import Mail
from tests.database_constraints import violates, write
from tests.engagements.contracts.amendment_steps import amended, in_force, pause
from tests.engagements.world import World, days
from tests.errors import declined

OnDay = Callable[[date], None]


@pytest.fixture
def contract(world: World) -> ContractVersion:
    return world.active()


def ask(world: World, contract: ContractVersion) -> CooperationRequest:
    return cooperation.ask(engagement=contract.engagement, item="The weights.", by=world.consultant)


def ends_on(contract: ContractVersion) -> date:
    return TimeBox.objects.get(engagement=contract.engagement).ends_on


def test_waiting_moves_the_last_day_until_the_item_is_provided(
    world: World, contract: ContractVersion, on_day: OnDay, sweep: Callable[[], None]
) -> None:
    before = ends_on(contract)
    request = ask(world, contract)
    assert Mail.objects.filter(recipient=world.signatory.email, body__contains="weights").exists()
    first = paused_from(request)
    on_day(first - days(1))
    sweep()
    assert ends_on(contract) == before
    on_day(first + days(3))
    sweep()
    sweep()
    assert ends_on(contract) == before + timedelta(days=4)
    engagement = Engagement.objects.get(pk=contract.engagement_id)
    clock = contract_summary_of(engagement).clock
    assert clock is not None
    assert clock.is_paused
    assert "The weights." in clock.why_paused
    cooperation.provide(request=request, by=world.signatory)
    on_day(first + days(9))
    sweep()
    assert ends_on(contract) == before + timedelta(days=4)


def test_an_item_provided_in_time_stops_nothing(world: World, contract: ContractVersion) -> None:
    before = ends_on(contract)
    request = ask(world, contract)
    with declined("access.signatories_only"):
        cooperation.provide(request=request, by=world.viewer)
    provided = cooperation.provide(request=request, by=world.consultant)
    assert ends_on(contract) == before
    with violates("cooperationrequest.provided"):
        write(provided, provided_on=None, provided_by=None)


def test_a_pause_sealed_later_corrects_the_days_and_an_earlier_one_does_not(
    world: World, contract: ContractVersion, on_day: OnDay, sweep: Callable[[], None]
) -> None:
    before = ends_on(contract)
    request = ask(world, contract)
    first = paused_from(request)
    on_day(first + days(1))
    amendment = in_force(world, amended(world, contract, pause=pause(0, 2)))
    on_day(first + days(5))
    sweep()
    assert ends_on(contract) == before + timedelta(days=6)
    cooperation.provide(request=request, by=world.signatory)
    assert ends_on(contract) == before + timedelta(days=6)
    in_force(world, amended(world, amendment, pause=pause(-1, -1)))
    sweep()
    # The three days of the first pause, and the one day of its correction.
    assert ends_on(contract) == before + timedelta(days=4)


def test_the_consultancy_may_terminate_after_fifteen_working_days() -> None:
    request = CooperationRequest(asked_on=date(2026, 11, 23))
    assert paused_from(request) == date(2026, 11, 26)
    assert terminable_from(request) == date(2026, 12, 15)


def test_both_parties_see_and_end_a_request(
    world: World, contract: ContractVersion, client: Client
) -> None:
    reference = contract.engagement.reference
    client.force_login(world.consultant)
    url = reverse("cooperation-ask", args=[reference])
    assert client.post(url, {"item": ""}).status_code == 422
    assert client.post(url, {"item": "The weights."}).status_code == 302
    request = CooperationRequest.objects.get()
    page = client.get(reverse("engagement-time", args=[reference])).content.decode()
    assert reverse("cooperation-provided", args=[reference, request.pk]) in page
    provide = reverse("portal-cooperation-provided", args=[reference, request.pk])
    client.force_login(world.stranger)
    assert client.post(provide).status_code == 404
    client.force_login(world.signatory)
    portal = reverse("portal-engagement", args=[reference])
    assert provide in client.get(portal).content.decode()
    assert client.post(provide).status_code == 302
    assert provide not in client.get(portal).content.decode()
