"""A contract in force is amended by a further version that both accept."""

from __future__ import annotations

import copy
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from benchmarks.models import Benchmark
from benchmarks.services import benchmarks
from engagements.contracts import amendments, offers, terms
from engagements.contracts import terms as contract_terms
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement, Stage
from engagements.runs import services as runs
from tests.engagements.contracts.amendment_steps import (
    CUSTOMER,
    HOUSE,
    amended,
    box_of,
    in_force,
    pause,
)
from tests.engagements.world import World, days, fresh, today
from tests.errors import declined


def other_benchmark(target: float = 3.0) -> Benchmark:
    document = copy.deepcopy(Benchmark.objects.get().document)
    return benchmarks.seal(document={**document, "target": target})


def test_more_time_moves_the_last_day_once_both_have_accepted(world: World) -> None:
    contract = world.active()
    before = box_of(contract).ends_on
    offered = amended(world, contract, weeks=8)
    assert (offered.number, offered.amends, offered.weeks) == (2, contract, 8)
    world.accept(offered, CUSTOMER)
    assert box_of(contract).ends_on == before
    world.accept(offered, HOUSE)
    assert box_of(contract).ends_on == before + timedelta(weeks=2)
    assert fresh(contract.engagement).stage == Stage.ACTIVE


def test_an_amendment_repeats_the_promise_that_was_sealed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = world.active()
    sealed = contract_terms.terms_of(contract)["promise"]
    monkeypatch.setattr(terms, "PROMISE", "Otherwise, {target} times.")
    longer = in_force(world, amended(world, contract, weeks=8))
    assert contract_terms.terms_of(longer)["promise"] == sealed
    other = amended(world, longer, benchmark=other_benchmark())
    assert contract_terms.terms_of(other)["promise"] == "Otherwise, 3 times."


def test_the_old_version_stays_readable_and_out_of_force(world: World) -> None:
    contract = world.active()
    new = in_force(world, amended(world, contract, weeks=8))
    old = ContractVersion.objects.get(pk=contract.pk)
    assert (old.state, new.state) == ("superseded", "accepted")
    assert contract_terms.terms_of(old)["weeks"] == 6
    terms = contract_terms.terms_of(new)
    assert terms["amends"] == {
        "version": 1,
        "digest": old.digest,
        "changes": "more_time",
        "reason": "As agreed on the phone.",
    }


def test_an_amendment_says_when_the_clock_began(world: World, on_day: Any) -> None:
    offered = world.offered(starts_on=today())
    on_day(today() + days(3))
    contract = in_force(world, offered)
    on_day(today() + days(6))
    terms = contract_terms.terms_of(amended(world, contract, weeks=8))
    assert contract_terms.terms_of(contract)["began_on"] is None
    assert (terms["starts_on"], terms["began_on"]) == (
        str(contract.starts_on),
        str(contract.starts_on + days(3)),
    )


def test_pending_milestones_share_a_new_fee(world: World) -> None:
    contract = world.active()
    new = in_force(world, amended(world, contract, fee=Decimal("60000.01")))
    assert (new.previously_released, new.fee) == (Decimal("18000"), Decimal("60000.01"))
    # 42,000.01 in the proportion 22,000 to 8,000.
    parts = [row.amount for row in new.milestones.order_by("position")]
    assert parts == [Decimal("30800.01"), Decimal("11200.00")]
    terms = contract_terms.terms_of(new)
    assert [part["amount"] for part in terms["released_before"]] == ["12000.00", "6000.00"]


def test_released_milestones_stay_with_their_version(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    new = in_force(world, amended(world, contract, weeks=8))
    states = dict(Milestone.objects.values_list("title", "state").order_by("pk"))
    old = contract.milestones.order_by("position").values_list("state", flat=True)
    assert list(old) == ["billed", "released", "void", "void"]
    assert list(new.milestones.values_list("title", "state")) == [
        ("Target", "pending"),
        ("Handover", "pending"),
    ]
    assert states["Target"] == "pending"


def test_an_amendment_of_an_amendment_keeps_both_changes(world: World) -> None:
    contract = world.active()
    in_force(world, amended(world, contract, weeks=7))
    third = in_force(world, amended(world, contract, weeks=8))
    assert (third.number, third.previously_released, third.weeks) == (3, Decimal("18000"), 8)
    states = contract.engagement.contracts.order_by("number").values_list("state", flat=True)
    assert list(states) == ["superseded", "superseded", "accepted"]


def test_another_benchmark_brings_its_target(world: World) -> None:
    contract = world.active()
    new = in_force(world, amended(world, contract, benchmark=other_benchmark()))
    assert new.target == 3
    assert world.request(new).run.benchmark.document["target"] == 3.0
    with declined("amendment.unchanged"):
        amended(world, contract, benchmark=new.benchmark)


def test_earlier_runs_keep_their_terms(world: World) -> None:
    contract = world.active(inconclusive="repeat")
    asked = world.conclude(world.request(contract), "inconclusive")
    in_force(world, amended(world, contract, benchmark=other_benchmark()))
    asked.refresh_from_db()
    assert asked.contract_version == contract
    assert asked.run.benchmark == contract.benchmark


INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("more_time", {"weeks": 6}, "amendment.not_more_time"),
    ("more_time", {"weeks": 11}, "contract.runs_3_to_10_weeks"),
    ("more_time", {"fee": Decimal(1)}, "amendment.other_argument"),
    ("more_time", {"weeks": 8, "fee": Decimal(1)}, "amendment.other_argument"),
    ("more_time", {}, "amendment.other_argument"),
    ("weather", {"weeks": 8}, "amendment.unknown_change"),
    ("price", {"fee": Decimal("48000")}, "amendment.unchanged"),
    ("price", {"fee": Decimal("18000")}, "amendment.fee_released"),
    ("price", {"fee": Decimal("48000.001")}, "amount.too_precise"),
]


def test_invalid_amendments_are_declined(world: World) -> None:
    engagement = world.active().engagement
    for change, to, code in INVALID:
        with declined(code):
            amendments.draft(
                engagement=engagement, change=change, reason="So.", by=world.consultant, **to
            )
    assert engagement.contracts.count() == 1


def test_only_a_contract_in_force_is_amended_by_a_consultant(world: World) -> None:
    def draft(engagement: Engagement, **changes: Any) -> ContractVersion:
        given: dict[str, Any] = {
            "change": "more_time",
            "reason": "So.",
            "by": world.consultant,
            "weeks": 8,
        }
        return amendments.draft(engagement=engagement, **(given | changes))

    offered = world.offered()
    with declined("engagement.wrong_stage"):
        draft(offered.engagement)
    in_force(world, offered)
    for who in (world.signatory, world.finance):
        with declined("access.consultants_only"):
            draft(offered.engagement, by=who)
    draft(offered.engagement)
    with declined("contract.version_open"):
        draft(offered.engagement)


def test_an_open_run_is_decided_under_its_own_terms(world: World) -> None:
    contract = world.active()
    offered = amended(world, contract, weeks=8)
    asked = world.request(contract)
    world.accept(offered, CUSTOMER)
    with declined("amendment.run_open"):
        world.accept(offered, HOUSE)
    assert not offered.acceptances.filter(party=HOUSE).exists()
    world.conclude(asked, "met")
    assert fresh(contract.engagement).stage == Stage.MET
    with declined("engagement.wrong_stage"):
        world.accept(offered, HOUSE)


def test_an_amendment_lapses_with_the_verdict(world: World) -> None:
    contract = world.active()
    offered = amended(world, contract, weeks=8)
    assert offers.expiring() == []
    world.conclude(world.request(contract), "met")
    assert offers.expiring() == [offered]
    assert offers.expire(contract=offered).state == "expired"
    assert fresh(contract.engagement).stage == Stage.MET
    assert offers.expiring() == []


def test_a_milestone_released_after_sealing_blocks_the_amendment(world: World) -> None:
    contract = world.active()
    offered = amended(world, contract, weeks=8)
    world.accept(offered, CUSTOMER)
    contract.milestones.filter(position=4).update(state="released", released_at=contract.sealed_at)
    with declined("amendment.milestone_released"):
        world.accept(offered, HOUSE)


def test_a_declined_or_withdrawn_amendment_leaves_the_contract_in_force(world: World) -> None:
    contract = world.active()
    offers.decline(contract=amended(world, contract, weeks=8), reason="No.", by=world.signatory)
    offers.withdraw(contract=amended(world, contract, weeks=9), reason="No.", by=world.consultant)
    assert fresh(contract.engagement).stage == Stage.ACTIVE
    assert contract.engagement.contracts.get(state="accepted") == contract


def test_the_target_is_met_under_the_version_in_force(world: World) -> None:
    contract = world.active()
    new = in_force(world, amended(world, contract, weeks=8))
    world.conclude(world.request(new), "met")
    assert new.milestones.get(title="Target").state == "released"


def test_an_acceptance_run_may_be_asked_for_in_the_time_that_was_added(
    world: World, on_day: Any
) -> None:
    contract = world.active()
    last = box_of(contract).ends_on
    in_force(world, amended(world, contract, pause=pause(3, 12)))
    on_day(last + days(10))
    assert world.request(contract).purpose == "acceptance"
    on_day(last + days(11))
    with declined("run.after_time_box"):
        runs.request(
            engagement=contract.engagement,
            solution=world.solution,
            purpose="acceptance",
            request_key=uuid4(),
            by=world.consultant,
        )


def test_the_database_holds_an_amendment_to_what_it_may_change(world: World) -> None:
    contract = world.active()
    drafted = amendments.draft(
        engagement=contract.engagement,
        change="pause",
        reason="So.",
        by=world.consultant,
        pause=pause(1, 2),
    )
    rows = ContractVersion.objects.filter(pk=drafted.pk)
    elsewhere = world.scoping(customer=world.other_customer)
    for change in (
        {"currency": "USD"},
        {"tax_rate_percent": Decimal(7)},
        {"starts_on": date(2020, 1, 1)},
        {"engagement": elsewhere},
        {"amendment": ""},
        {"amendment_reason": ""},
        {"previously_released": Decimal(-1)},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**change)
    offers.offer(contract=drafted, by=world.consultant)
    with pytest.raises(IntegrityError), transaction.atomic():
        drafted.pauses.update(ends_on=today() + days(9))
    with pytest.raises(IntegrityError), transaction.atomic():
        drafted.clauses.all().delete()
