"""A time-box that ran out without a met target is settled, by the sweep or by a person, once."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Stage
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World, days, fresh
from tests.errors import declined

OnDay = Callable[[date], None]
Sweep = Callable[[], None]


def test_a_time_box_that_ran_out_is_settled_by_the_sweep_once(
    world: World, on_day: OnDay, sweep: Sweep
) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    last = TimeBox.objects.get(engagement=contract.engagement).ends_on
    on_day(last)
    sweep()
    assert not Settlement.objects.exists()
    on_day(last + days(1))
    sweep()
    sweep()
    settlement = Settlement.objects.get()
    assert (settlement.reason, settlement.proposed_by) == ("time_box", None)
    assert settlement.refund == Decimal("7140.00")
    assert fresh(contract.engagement).stage == Stage.MISSED


def test_a_person_may_settle_a_time_box_that_ran_out_before_the_sweep_does(
    world: World, on_day: OnDay
) -> None:
    contract = world.active()
    on_day(TimeBox.objects.get(engagement=contract.engagement).ends_on + days(1))
    settlement = settlements.propose(contract=contract, reason="time_box", by=world.consultant)
    assert settlement.proposed_by == world.consultant
    assert settlements.propose_after_time_box(engagement=contract.engagement) is None


def test_a_time_box_does_not_end_over_an_open_acceptance_run(
    world: World, on_day: OnDay, sweep: Sweep
) -> None:
    contract = world.active()
    world.request(contract)
    on_day(TimeBox.objects.get(engagement=contract.engagement).ends_on + days(1))
    with declined("settlement.run_open"):
        settlements.propose(contract=contract, reason="time_box", by=world.finance)
    sweep()
    assert not Settlement.objects.exists()


def test_an_inconclusive_run_that_decides_nothing_lets_the_time_box_decide(
    world: World, on_day: OnDay, sweep: Sweep
) -> None:
    contract = world.decided("inconclusive", inconclusive="repeat")
    on_day(TimeBox.objects.get(engagement=contract.engagement).ends_on + days(1))
    sweep()
    assert Settlement.objects.get().reason == "time_box"
