"""Runs are asked for inside the time-box; a verdict turns into what the contract says, once."""

from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from benchmarks.models import Record, Run, Solution
from benchmarks.services import keys
from engagements import closing, tasks
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Stage
from engagements.event_log.models import Event
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement
from tests import referee_key
from tests.engagements.world import World, days, fresh, measured
from tests.errors import declined

OnDay = Callable[[date], None]
Sweep = Callable[[], None]


def ends_on(contract: ContractVersion) -> date:
    return TimeBox.objects.get(engagement=contract.engagement).ends_on


def states(contract: ContractVersion) -> list[str]:
    return list(contract.milestones.order_by("position").values_list("state", flat=True))


def test_an_acceptance_run_is_measured_on_the_contract_s_benchmark(world: World) -> None:
    contract = world.active()
    asked = world.request(contract)
    assert asked.contract_version == contract
    assert asked.run.benchmark == contract.benchmark
    assert asked.run.state == Run.State.QUEUED


def test_the_same_request_is_the_same_run(world: World) -> None:
    contract, key = world.active(), uuid4()
    asked = [
        runs.request(
            engagement=contract.engagement,
            solution=world.solution,
            purpose="acceptance",
            request_key=key,
            by=world.consultant,
        )
        for _ in range(2)
    ]
    assert asked[0] == asked[1]
    assert Run.objects.count() == 1
    assert contract.engagement.events.filter(verb="run.requested").count() == 1


def test_a_request_s_key_means_one_thing(world: World) -> None:
    contract = world.active()
    asked = world.request(contract)
    other = world.drafted().engagement
    another = Solution.objects.create(
        name="another",
        operator=world.benchmark.operator,
        filename="another.py",
        source="def run(): return 1",
        digest="sha256:" + "1" * 64,
    )
    for engagement, purpose, solution in (
        (contract.engagement, "trial", world.solution),
        (other, "acceptance", world.solution),
        (contract.engagement, "acceptance", another),
    ):
        with declined("run.key_reused"):
            runs.request(
                engagement=engagement,
                solution=solution,
                purpose=purpose,
                request_key=asked.run.request_key,
                by=world.consultant,
            )


def test_one_acceptance_run_at_a_time(world: World) -> None:
    contract = world.active()
    world.request(contract)
    with declined("run.acceptance_in_progress"):
        world.request(contract)
    world.request(contract, "trial")


def test_an_acceptance_run_needs_a_calibrated_baseline(world: World, settings: Any) -> None:
    settings.TWOFOLD_REQUIRED_CALIBRATION = True
    with declined("run.benchmark_not_calibrated"):
        world.request(world.active())


def test_no_acceptance_run_before_the_contract_is_in_force(world: World) -> None:
    with declined("engagement.wrong_stage"):
        world.request(world.offered())


def test_the_last_day_of_the_time_box_counts_and_no_other(world: World, on_day: OnDay) -> None:
    contract = world.active()
    first, last = contract.starts_on, ends_on(contract)
    on_day(first - days(1))
    with declined("run.before_time_box"):
        world.request(contract)
    on_day(last + days(1))
    with declined("run.after_time_box"):
        world.request(contract)
    on_day(last)
    assert world.request(contract)


def test_a_trial_may_be_run_from_the_audit_on_with_a_benchmark_of_its_own(world: World) -> None:
    engagement = world.auditing().engagement
    trial: dict[str, Any] = {"solution": world.solution, "purpose": "trial", "by": world.consultant}
    with declined("run.no_benchmark"):
        runs.request(engagement=engagement, request_key=uuid4(), **trial)
    asked = runs.request(
        engagement=engagement, request_key=uuid4(), benchmark=world.benchmark, **trial
    )
    assert asked.contract_version is None
    with declined("engagement.wrong_stage"):
        runs.request(
            engagement=world.scoping(), request_key=uuid4(), benchmark=world.benchmark, **trial
        )


def test_a_trial_before_the_offer_uses_the_draft_s_benchmark(world: World) -> None:
    contract = world.drafted()
    assert world.request(contract, "trial").contract_version == contract


def test_a_solution_for_another_operator_is_refused(world: World) -> None:
    contract = world.active()
    world.solution = Solution.objects.create(
        name="other", operator="other", filename="o.py", source="x", digest="sha256:" + "1" * 64
    )
    with declined("run.other_operator"):
        world.request(contract)


def test_only_consultants_ask_for_runs_and_for_known_purposes(world: World) -> None:
    contract = world.active()
    with declined("run.unknown_purpose"):
        world.request(contract, "fun")
    world.consultant = world.finance
    with declined("access.consultants_only"):
        world.request(contract)


def test_met_releases_what_waited_for_it(world: World) -> None:
    contract = world.met(paid=0)
    assert fresh(contract.engagement).stage == Stage.MET
    assert states(contract) == ["released", "released", "released", "pending"]
    assert not Settlement.objects.exists()


def test_missed_proposes_the_settlement_and_nobody_signs_for_it(world: World) -> None:
    settlement = world.settlement()
    contract = settlement.contract_version
    assert fresh(contract.engagement).stage == Stage.MISSED
    assert (settlement.reason, settlement.proposed_by) == ("missed", None)
    assert states(contract) == ["billed", "billed", "void", "void"]


@pytest.mark.parametrize(
    ("rule", "stage", "settlements"), [("missed", Stage.MISSED, 1), ("repeat", Stage.ACTIVE, 0)]
)
def test_inconclusive_means_what_the_terms_say(
    world: World, rule: str, stage: Stage, settlements: int
) -> None:
    contract = world.decided("inconclusive", inconclusive=rule)
    assert fresh(contract.engagement).stage == stage
    assert Settlement.objects.count() == settlements


@pytest.mark.parametrize("verdict", ["invalid", "failed"])
def test_a_run_that_says_nothing_about_the_target_decides_nothing(
    world: World, verdict: str
) -> None:
    contract = world.decided(verdict)
    assert fresh(contract.engagement).stage == Stage.ACTIVE
    assert not Settlement.objects.exists()
    assert contract.engagement.events.filter(verb__startswith="run.", for_customer=True).exists()
    assert world.request(contract)


def test_the_reason_of_a_failed_run_is_internal(world: World) -> None:
    contract = world.decided("failed")
    event = contract.engagement.events.get(verb="run.failed")
    assert event.for_customer
    assert "out of memory" not in event.summary
    assert event.changes["failure_reason"] == "The candidate raised: out of memory."


@pytest.mark.parametrize("verdict", ["met", "missed", "disqualified"])
def test_a_trial_decides_nothing_and_is_internal(world: World, verdict: str) -> None:
    contract = world.active()
    world.conclude(world.request(contract, "trial"), verdict)
    assert fresh(contract.engagement).stage == Stage.ACTIVE
    assert not contract.engagement.events.filter(verb="run.concluded", for_customer=True).exists()


@pytest.mark.parametrize("verdict", ["met", "missed"])
def test_concluding_twice_changes_nothing(
    world: World,
    verdict: str,
    documents_wanted: list[object],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    contract = world.active()
    asked = measured(world.request(contract), verdict)
    with django_capture_on_commit_callbacks(execute=True):
        first = runs.conclude(run=asked)
        second = runs.conclude(run=asked)
    assert first.concluded_at == second.concluded_at
    assert contract.engagement.events.filter(verb="run.concluded").count() == 1
    assert Settlement.objects.count() == (verdict == "missed")
    assert documents_wanted == [("benchmark_report", f"run:{asked.pk}")]


def test_a_run_is_not_concluded_before_it_is_over(world: World) -> None:
    with declined("run.in_progress"):
        runs.conclude(run=world.request(world.active()))


def test_a_run_asked_for_in_time_counts_though_it_ends_after_the_time_box(
    world: World, on_day: OnDay, sweep: Sweep
) -> None:
    contract = world.active()
    on_day(ends_on(contract))
    asked = world.request(contract)
    on_day(ends_on(contract) + days(1))
    sweep()
    assert fresh(contract.engagement).stage == Stage.ACTIVE
    world.conclude(asked, "met")
    assert fresh(contract.engagement).stage == Stage.MET


def test_a_verdict_never_moves_a_cancelled_engagement(world: World) -> None:
    contract = world.active()
    asked = world.request(contract, "trial")
    closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    EngagementRun.objects.filter(pk=asked.pk).update(
        purpose="acceptance", contract_version=contract
    )
    world.conclude(asked, "met")
    assert fresh(contract.engagement).stage == Stage.CANCELLED


def test_the_task_concludes_by_the_run_s_own_number(world: World) -> None:
    contract = world.active()
    asked = measured(world.request(contract), "met")
    tasks.conclude_run(asked.run_id)
    tasks.conclude_run(asked.run_id)
    assert fresh(contract.engagement).stage == Stage.MET
    tasks.conclude_run(asked.run_id + 1000)


def test_met_under_a_key_that_is_revoked_later_is_reviewed(world: World) -> None:
    key = referee_key.register()
    for verdict in ("missed", "met"):
        asked = world.request(world.active())
        Run.objects.filter(pk=asked.run_id).update(
            state="finished", attempt=1, finished_at=timezone.now()
        )
        Record.objects.create(
            run_id=asked.run_id,
            attempt=1,
            file="records/1.json",
            digest="sha256:" + f"{asked.pk:064x}",
            verdict=verdict,
            ratio=2.4,
            low=2.3,
            high=2.5,
            summary={},
            device_name="CPU",
            signed_by=key,
        )
    for _ in range(2):
        keys.revoke(key_id=key.key_id, by="the tests")
    (event,) = Event.objects.filter(verb="run.key_revoked")
    assert (event.engagement_id, event.for_customer) == (asked.engagement_id, True)
    assert event.changes == {"run": asked.pk, "key": key.key_id}
