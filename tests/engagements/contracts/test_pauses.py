"""A pause extends the time-box by its days, and names its reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from engagements.contracts import amendments
from engagements.contracts.drafting import PauseDraft
from tests.engagements.contracts.amendment_steps import (
    CUSTOMER,
    HOUSE,
    amended,
    box_of,
    in_force,
    pause,
)
from tests.engagements.world import World, days, today
from tests.errors import declined


def test_the_days_of_a_pause_do_not_count(world: World) -> None:
    contract = world.active()
    before = box_of(contract).ends_on
    in_force(world, amended(world, contract, pause=pause(3, 12)))
    assert box_of(contract).ends_on == before + days(10)
    in_force(world, amended(world, contract, pause=pause(20, 20)))
    assert box_of(contract).ends_on == before + days(11)
    newest = contract.engagement.contracts.get(state="accepted")
    assert [row.ends_on for row in newest.pauses.all()] == [today() + days(12), today() + days(20)]


PAUSES = [
    (-1, 3, "pause.outside_time_box"),
    (42, 45, "pause.outside_time_box"),
    (5, 4, "pause.ends_before_start"),
]


def test_a_pause_ends_earlier_or_later_once_both_agree(
    world: World, on_day: Callable[[date], None]
) -> None:
    contract = world.active()
    before = box_of(contract).ends_on
    in_force(world, amended(world, contract, pause=pause(3, 12)))
    with declined("pause.unchanged"):
        amended(world, contract, pause=pause(3, 12))
    first = today()
    on_day(first + days(6))

    def ending(day: int) -> PauseDraft:
        return PauseDraft(first + days(3), first + days(day), "The customer", "No weights.")

    with declined("pause.ends_in_the_past"):
        amended(world, contract, pause=ending(4))
    in_force(world, amended(world, contract, pause=ending(6)))
    assert box_of(contract).ends_on == before + days(4)
    newest = in_force(world, amended(world, contract, pause=ending(20)))
    assert box_of(contract).ends_on == before + days(18)
    assert newest.pauses.count() == 1
    offered = amended(world, contract, pause=ending(7))
    world.accept(offered, CUSTOMER)
    on_day(before + days(10))
    with declined("amendment.ends_in_the_past"):
        world.accept(offered, HOUSE)


def test_invalid_pauses_are_declined(world: World) -> None:
    contract = world.active()
    for first, last, code in PAUSES:
        with declined(code):
            amended(world, contract, pause=pause(first, last))
    in_force(world, amended(world, contract, pause=pause(3, 12)))
    with declined("pause.overlaps"):
        amended(world, contract, pause=pause(12, 14))


def test_a_pause_and_an_amendment_have_a_reason(world: World) -> None:
    contract = world.active()
    silent = PauseDraft(today(), today(), " ", "No weights.")
    with declined("validation.missing"):
        amended(world, contract, pause=silent)
    with declined("validation.missing"):
        amendments.draft(
            engagement=contract.engagement,
            change="more_time",
            reason="  ",
            by=world.consultant,
            weeks=8,
        )


def test_a_pause_ends_within_three_years(world: World) -> None:
    contract = world.active()
    endless = PauseDraft(today(), date.max, "The customer", "No weights.")
    with declined("contract.day_too_far"):
        amended(world, contract, pause=endless)
