"""A handover is accepted, contested, or deemed accepted after its last day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from django.test import Client
from django.urls import reverse

from engagements.common.working_days import add_working_days
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones.services import accept_handover
from engagements.contracts.milestones.warranty import months_after, warranty_of
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.notifications.models import Mail
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, days, today
from tests.errors import declined


@pytest.fixture
def engagement(world: World) -> Engagement:
    return Engagement.objects.get(contracts=world.met())


def handover_state(engagement: Engagement) -> str:
    return engagement.contracts.get().milestones.get(condition="handover").state


@pytest.mark.parametrize(
    ("day", "last"),
    [(date(2026, 11, 23), date(2026, 12, 7)), (date(2026, 11, 28), date(2026, 12, 11))],
)
def test_weekends_are_no_working_days(day: date, last: date) -> None:
    assert add_working_days(day, 10) == last


def test_a_handover_is_deemed_accepted_after_its_last_day(
    world: World,
    engagement: Engagement,
    on_day: Callable[[date], None],
    sweep: Callable[[], None],
) -> None:
    with declined("access.consultants_only"):
        handovers.hand_over(engagement=engagement, by=world.finance)
    with declined("handover.too_short"):
        early = handovers.first_last_day() - days(1)
        handovers.hand_over(engagement=engagement, by=world.consultant, last_day=early)
    for _ in range(2):
        last_day = handovers.hand_over(engagement=engagement, by=world.consultant).last_day
    mail = Mail.objects.get(recipient=world.signatory.email, subject__startswith="Handover to")
    assert "deemed" in mail.body
    on_day(last_day)
    sweep()
    assert handover_state(engagement) == "pending"
    on_day(last_day + days(1))
    with declined("handover.deemed_accepted"):
        handovers.contest(engagement=engagement, defect="No tests.", by=world.signatory)
    sweep()
    sweep()
    assert handover_state(engagement) == "released"
    assert engagement.events.get(verb="handover.accepted").actor is None


def test_a_stated_defect_waits_for_another_handover(
    world: World,
    engagement: Engagement,
    client: Client,
    on_day: Callable[[date], None],
    sweep: Callable[[], None],
) -> None:
    url = reverse("portal-handover-contest", args=[engagement.reference])
    client.force_login(world.stranger)
    assert client.post(url, {"defect": "No tests."}).status_code == 404
    client.force_login(world.viewer)
    assert client.post(url, {"defect": "No tests."}).status_code == 403
    sign_in(client, world.signatory)
    assert client.post(url, {"defect": "No tests."}).status_code == 422
    client.force_login(world.consultant)
    deliver = reverse("contract-hand-over", args=[engagement.reference])
    assert client.post(deliver, {}).status_code == 302
    sign_in(client, world.signatory)
    page = reverse("portal-handover", args=[engagement.reference])
    assert url in client.get(page).content.decode()
    assert client.post(url, {"defect": "No tests."}).status_code == 302
    assert "No tests." in client.get(page).content.decode()
    client.force_login(world.consultant)
    workbench = client.get(reverse("engagement-contract", args=[engagement.reference]))
    assert "No tests." in workbench.content.decode()
    on_day(handovers.first_last_day() + days(1))
    sweep()
    assert handover_state(engagement) == "pending"
    again = handovers.hand_over(engagement=engagement, by=world.consultant)
    on_day(again.last_day + days(1))
    sweep()
    assert handover_state(engagement) == "released"


def test_only_a_met_contract_is_handed_over(world: World) -> None:
    contract: ContractVersion = world.active()
    with declined("engagement.wrong_stage"):
        handovers.hand_over(engagement=contract.engagement, by=world.consultant)


def test_both_sides_see_the_last_day_of_the_warranty(
    world: World, engagement: Engagement, client: Client
) -> None:
    contract = engagement.contracts.get()
    assert warranty_of(engagement, contract) is None
    accept_handover(engagement=engagement, by=world.signatory)
    last = months_after(today(), 12)
    assert warranty_of(engagement, contract) == (today(), last)
    for page, user in (
        ("portal-engagement", world.viewer),
        ("engagement-contract", world.consultant),
    ):
        client.force_login(user)
        shown = client.get(reverse(page, args=[engagement.reference])).content.decode()
        assert last.isoformat() in shown, page


@pytest.mark.parametrize(
    ("day", "months", "last"),
    [
        (date(2026, 11, 30), 3, date(2027, 2, 28)),
        (date(2026, 12, 31), 12, date(2027, 12, 31)),
        (date(2028, 2, 29), 60, date(2033, 2, 28)),
    ],
)
def test_a_month_without_the_day_ends_earlier(day: date, months: int, last: date) -> None:
    assert months_after(day, months) == last
