"""The time-box's page: clock, pauses, hours, warnings."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from engagements.contracts.time_box import warnings
from engagements.contracts.time_box.models import TimeBox, TimeEntry
from engagements.contracts.time_box.views import TimeEntryForm
from engagements.engagement.models import Engagement
from tests.engagements.world import World, days, today

pytestmark = pytest.mark.django_db


@pytest.fixture
def engagement(world: World) -> Engagement:
    return world.active().engagement


def url(name: str, engagement: Engagement, *args: object) -> str:
    return reverse(name, args=[engagement.reference, *args])


def note(client: Client, engagement: Engagement, **changes: str) -> Any:
    data = {
        "worked_on": today().isoformat(),
        "hours": "7.5",
        "note": "Tiles.",
        "request_key": str(uuid4()),
    }
    return client.post(url("time-add", engagement), data | changes)


def test_the_page_shows_the_clock_the_hours_and_the_rate(
    client: Client, world: World, engagement: Engagement
) -> None:
    client.force_login(world.consultant)
    assert note(client, engagement).status_code == 302
    page = client.get(url("engagement-time", engagement)).content.decode()
    assert "42 day" in page
    assert "EUR\xa06,400.00" in page
    assert "<svg" in page
    assert "Tiles." in page


INVALID: list[dict[str, str]] = [
    {"hours": "25"},
    {"hours": "0"},
    {"note": ""},
    {"worked_on": "soon"},
    {"request_key": "x"},
]


def test_invalid_hours_are_not_saved(client: Client, world: World, engagement: Engagement) -> None:
    client.force_login(world.consultant)
    valid = {"worked_on": today(), "hours": "7.5", "note": "Tiles.", "request_key": str(uuid4())}
    assert TimeEntryForm(valid).is_valid()
    for changes in INVALID:
        assert not TimeEntryForm(valid | changes).is_valid(), changes
    assert note(client, engagement, worked_on="2020-01-01").status_code == 422
    assert not TimeEntry.objects.exists()


def test_other_staff_read_hours_and_warnings_and_customers_see_neither(
    client: Client, world: World, engagement: Engagement
) -> None:
    box = TimeBox.objects.get(engagement=engagement)
    box.starts_on, box.ends_on = box.starts_on - days(36), box.ends_on - days(36)
    box.save()
    warnings.warn(engagement=engagement)
    for person in (world.signatory, world.stranger, world.nobody):
        client.force_login(person)
        assert client.get(url("engagement-time", engagement)).status_code == 404
        assert note(client, engagement).status_code == 404
        assert client.post(url("time-remove", engagement, 1)).status_code == 404
    client.force_login(world.finance)
    page = client.get(url("engagement-time", engagement)).content.decode()
    assert page.count('data-mailed="true"') == 1
    assert 'method="post"' not in page.partition("<main")[2]
    assert note(client, engagement).status_code == 403


def test_before_the_contract_there_is_no_time_box(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    assert client.get(url("engagement-time", world.audited())).status_code == 404
