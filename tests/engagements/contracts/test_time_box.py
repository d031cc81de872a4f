"""The clock of the time-box: calendar weeks, pauses, warnings, hours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from engagements.contracts.drafting import PauseDraft
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import hours, warnings
from engagements.contracts.time_box import services as time_box
from engagements.contracts.time_box.burn_down import burn_down_of
from engagements.contracts.time_box.hours import hours_of
from engagements.contracts.time_box.models import TimeBox, TimeBoxWarning, TimeEntry
from engagements.engagement.models import Engagement
from engagements.notifications.models import Mail
from tests.engagements.contracts.amendment_steps import amended, in_force, pause
from tests.engagements.world import World, days, today
from tests.errors import declined

Threshold = TimeBoxWarning.Threshold
MONDAY = dt.date(2026, 9, 7)


def stop(first: int, last: int) -> PauseDraft:
    return PauseDraft(MONDAY + days(first), MONDAY + days(last), "Them", "Why")


def test_a_week_from_a_monday_ends_on_the_sunday() -> None:
    assert time_box.last_day(MONDAY, 1, []) == dt.date(2026, 9, 13)
    assert time_box.last_day(MONDAY, 6, []) == dt.date(2026, 10, 18)


def test_paused_days_are_added_once_however_often_they_are_named() -> None:
    assert time_box.last_day(MONDAY, 3, [stop(2, 4)]) == MONDAY + days(20 + 3)
    assert time_box.last_day(MONDAY, 3, [stop(2, 4), stop(3, 6)]) == MONDAY + days(20 + 5)
    # The last day itself is paused, and a pause after the end adds nothing.
    assert time_box.last_day(MONDAY, 3, [stop(20, 20)]) == MONDAY + days(21)
    assert time_box.last_day(MONDAY, 3, [stop(21, 30)]) == MONDAY + days(20)


@given(
    weeks=st.integers(3, 10),
    stops=st.lists(st.tuples(st.integers(-5, 90), st.integers(0, 20)), max_size=4),
)
def test_the_clock_always_runs_for_exactly_its_weeks(
    weeks: int, stops: list[tuple[int, int]]
) -> None:
    pauses = [stop(first, first + length) for first, length in stops]
    box = TimeBox(starts_on=MONDAY, ends_on=time_box.last_day(MONDAY, weeks, pauses))
    clock = time_box.clock(box, pauses)
    assert len(clock) == weeks * 7
    assert clock[-1] == box.ends_on


def test_the_event_log_has_days_in_words(world: World) -> None:
    engagement = world.active().engagement
    story = engagement.events.get(verb="time_box.started")
    first = today()
    assert f"from {first.day} {first:%B %Y} to" in story.summary


def test_the_settlement_follows_after_the_dispute_window(world: World) -> None:
    engagement = world.active(dispute_days=10).engagement
    assert time_box.settles_on(engagement) == time_box.ends_on(engagement) + days(11)


# Of a time-box of 42 days: which warnings have come after so many days of the clock.
PASSED = [
    (20, []),
    (21, [Threshold.HALF]),
    (33, [Threshold.HALF]),
    (34, [Threshold.HALF, Threshold.MOST]),
    (35, [Threshold.HALF, Threshold.MOST, Threshold.WEEK]),
    (41, [Threshold.HALF, Threshold.MOST, Threshold.WEEK, Threshold.DAY]),
    (42, list(Threshold)),
]


@pytest.mark.parametrize(("used", "passed"), PASSED)
def test_thresholds_come_in_their_order(used: int, passed: list[Threshold]) -> None:
    assert warnings.passed_by(total_days=42, used_days=used) == passed


def test_a_short_time_box_has_its_last_week_before_its_last_fifth() -> None:
    passed = warnings.passed_by(total_days=21, used_days=17)
    assert passed == [Threshold.HALF, Threshold.WEEK, Threshold.MOST]


def mailed(engagement: Engagement) -> list[str]:
    found = Mail.objects.filter(engagement=engagement, key__startswith="time_box:")
    return [mail.key.rpartition(":")[2] for mail in found]


@pytest.fixture
def running(world: World) -> ContractVersion:
    return world.active(dispute_days=14)


def test_each_warning_is_mailed_once(
    world: World, running: ContractVersion, on_day: Callable[[dt.date], None]
) -> None:
    engagement, start = running.engagement, today()
    for day in range(45):
        on_day(start + days(day))
        for found in warnings.due():
            warnings.warn(engagement=found)
        warnings.warn(engagement=engagement)
    assert mailed(engagement) == ["half", "most", "week", "day", "over"]
    warned = Mail.objects.filter(key__startswith="time_box:")
    recipients = set(warned.values_list("recipient", flat=True))
    assert recipients == {world.consultant.email}
    assert engagement.events.filter(verb="time_box.warned").count() == 5


def test_after_downtime_only_the_last_warning_is_mailed(
    running: ContractVersion, on_day: Callable[[dt.date], None]
) -> None:
    engagement = running.engagement
    on_day(today() + days(36))
    assert warnings.due() == [engagement]
    warnings.warn(engagement=engagement)
    assert warnings.due() == []
    noted = engagement.time_box_warnings.values_list("threshold", "is_mailed")
    assert list(noted) == [("half", False), ("most", False), ("week", True)]
    assert mailed(engagement) == ["week"]


def test_more_time_restarts_the_warnings(
    world: World, running: ContractVersion, on_day: Callable[[dt.date], None]
) -> None:
    engagement, start = running.engagement, today()
    on_day(start + days(36))
    warnings.warn(engagement=engagement)
    in_force(world, amended(world, running, weeks=10))
    warnings.warn(engagement=engagement)
    assert mailed(engagement) == ["week", "half"]


def test_the_sweep_warns_and_expires(
    world: World,
    running: ContractVersion,
    sweep: Callable[[], None],
    on_day: Callable[[dt.date], None],
) -> None:
    other = world.offered(valid_until=today() + days(3))
    on_day(today() + days(22))
    sweep()
    sweep()
    assert mailed(running.engagement) == ["half"]
    other.refresh_from_db()
    assert other.state == "expired"
    assert other.engagement.events.filter(verb="contract.expired").count() == 1


def test_no_warnings_after_the_verdict(
    world: World, running: ContractVersion, on_day: Callable[[dt.date], None]
) -> None:
    world.conclude(world.request(running), "met")
    on_day(today() + days(30))
    assert warnings.due() == []
    assert warnings.warn(engagement=running.engagement) is None


def note(world: World, engagement: Engagement, **changes: Any) -> TimeEntry:
    given: dict[str, Any] = {
        "worked_on": today(),
        "hours": Decimal("7.5"),
        "note": "Tiles.",
        "request_key": uuid4(),
        "by": world.consultant,
    }
    return hours.add(engagement=engagement, **(given | changes))


def test_hours_give_the_fee_per_hour(world: World, running: ContractVersion) -> None:
    engagement = running.engagement
    assert hours_of(engagement, running).rate is None
    note(world, engagement)
    note(world, engagement, hours=Decimal("4.5"), by=world.admin)
    hours = hours_of(engagement, running)
    assert hours.total == 12
    assert hours.rate == Decimal("4000.00")
    assert [(each.consultant, each.hours) for each in hours.by_consultant] == [
        (world.consultant, Decimal("7.5")),
        (world.admin, Decimal("4.5")),
    ]


def test_hours_before_the_time_box_count(world: World, running: ContractVersion) -> None:
    engagement = running.engagement
    Engagement.objects.filter(pk=engagement.pk).update(opened_at=timezone.now() - days(3))
    engagement.refresh_from_db()
    note(world, engagement, worked_on=today() - days(2))
    assert hours_of(engagement, running).total == Decimal("7.5")
    with declined("time_entry.before_engagement"):
        note(world, engagement, worked_on=today() - days(4))


def test_a_form_sent_twice_is_one_entry(world: World, running: ContractVersion) -> None:
    key = uuid4()
    first = note(world, running.engagement, request_key=key)
    assert note(world, running.engagement, request_key=key) == first
    with declined("time_entry.other_request"):
        note(world, running.engagement, request_key=key, by=world.admin)
    with declined("time_entry.other_request"):
        note(world, running.engagement, request_key=key, hours=Decimal("5"))


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"hours": Decimal(0)}, "time_entry.hours_fit_a_day"),
    ({"hours": Decimal("24.25")}, "time_entry.day_full"),
    ({"note": "  "}, "validation.missing"),
]


def test_invalid_hours_are_declined(world: World, running: ContractVersion) -> None:
    engagement = running.engagement
    cases = [
        *IMPOSSIBLE,
        ({"worked_on": today() + days(1)}, "time_entry.in_the_future"),
        ({"worked_on": today() - days(1)}, "time_entry.before_engagement"),
        ({"by": world.signatory}, "access.consultants_only"),
        ({"by": world.finance}, "access.consultants_only"),
    ]
    for changes, code in cases:
        with declined(code):
            note(world, engagement, **changes)
    with declined("time_entry.no_time_box"):
        note(world, world.audited())


def test_a_day_has_24_hours_over_all_engagements(world: World, running: ContractVersion) -> None:
    other = world.active().engagement
    note(world, running.engagement, hours=Decimal(20))
    with declined("time_entry.day_full"):
        note(world, other, hours=Decimal("4.25"))
    note(world, other, hours=Decimal(4))


def test_hours_are_removed_by_their_consultant(world: World, running: ContractVersion) -> None:
    entry = note(world, running.engagement)
    for who in (world.finance, world.signatory):
        with declined("time_entry.other_consultant"):
            hours.remove(entry=entry, by=who)
    hours.remove(entry=entry, by=world.consultant)
    hours.remove(entry=entry, by=world.consultant)
    assert not TimeEntry.objects.exists()
    assert running.engagement.events.filter(verb="time.removed").count() == 1


def test_the_burn_down_is_flat_during_a_pause(world: World, running: ContractVersion) -> None:
    box = TimeBox.objects.get(engagement=running.engagement)
    offered = amended(world, running, pause=pause(2, 4))
    data = burn_down_of(box, offered, today=today() + days(3))
    assert [data.left_after(today() + days(n)) for n in (0, 1, 2, 4, 5)] == [38, 37, 37, 37, 36]
    assert data.is_paused
