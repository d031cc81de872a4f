"""Both parties measure a run: one request, two runs, two records, one decision."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import SigningKey
from benchmarks.records import signatures
from engagements import tasks
from engagements.common.ratios import with_interval
from engagements.contracts.models import ContractVersion
from engagements.disputes import services as disputes
from engagements.runners import services as runners
from engagements.runners.models import Runner
from engagements.runs import attempts, explanations
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.runs.pairs import Decision, Measured, of_both
from tests.database_constraints import violates
from tests.engagements.api_program import Program
from tests.engagements.world import World, fresh, measured
from tests.errors import declined

KINDS = {
    "met": Measured(Decision.MET, 2.3, 2.5),
    "met elsewhere": Measured(Decision.MET, 3.3, 3.5),
    "missed": Measured(Decision.MISSED, 1.0, 1.2),
    "inconclusive": Measured(Decision.INCONCLUSIVE, 1.9, 2.4),
    "noise": Measured(Decision.INCONCLUSIVE, 2.2, 2.6, is_noise=True),
    "invalid": Measured(Decision.INVALID),
    "disqualified": Measured(Decision.DISQUALIFIED),
    "failed": Measured(Decision.FAILED),
    "crashed": Measured(Decision.CRASHED),
}
# A missing or an invalid record decides nothing; the rest must agree.
AGREE = {
    ("met", "met"): "met",
    ("met elsewhere", "met elsewhere"): "met",
    ("missed", "missed"): "missed",
    ("inconclusive", "inconclusive"): "inconclusive",
    ("disqualified", "disqualified"): "disqualified",
    ("crashed", "crashed"): "crashed",
    **{
        pair: "inconclusive"
        for other in ("met", "met elsewhere", "missed", "inconclusive", "noise")
        for pair in (("noise", other), (other, "noise"))
    },
}


@pytest.mark.parametrize(("ours", "theirs"), list(product(KINDS, KINDS)))
def test_every_kind_of_pair_has_its_decision(ours: str, theirs: str) -> None:
    found = of_both(KINDS[ours], KINDS[theirs])
    pair = {ours, theirs}
    # A candidate that crashed for one party alone has no record there, as after a failure.
    undecided = "failed" if {"failed", "crashed"} & pair else "invalid" if "invalid" in pair else ""
    expected = AGREE.get((ours, theirs)) or undecided or "disagreed"
    assert found.decision == expected
    assert (found.low, found.high) == (KINDS[ours].low, KINDS[ours].high)
    assert found.is_noise == ("noise" in pair)


@pytest.fixture
def key(world: World, tmp_path: Path) -> SigningKey:
    """The key of the customer's started runner."""
    runner, _ = runners.register(name="box", by=world.signatory, customer=world.customer)
    public = signatures.make_key(tmp_path / "key").public.pem()
    runner = runners.introduce(runner=runner, device="cpu", device_name="CPU", public_key=public)
    assert runner.key is not None
    return runner.key


@pytest.fixture
def contract(world: World, key: SigningKey) -> ContractVersion:
    """A contract that both parties measure."""
    return world.active(place="both", acceptance_runs=3)


def concluded(world: World, contract: ContractVersion, ours: Any, theirs: Any) -> EngagementRun:
    asked = world.request(contract)
    measured(asked, *ours)
    assert asked.counterpart is not None
    return runs.conclude(run=measured(asked.counterpart, *theirs))


@pytest.mark.parametrize(
    ("ours", "theirs", "decision", "attempt", "stage"),
    [
        (["met"], ["met"], "met", 1, "met"),
        (["met"], ["met", 5.0], "disagreed", 1, "active"),
        (["met"], ["missed"], "disagreed", 1, "active"),
        (["noisy"], ["met"], "inconclusive", None, "active"),
        (["failed"], ["met"], "failed", None, "active"),
        (["met"], ["failed"], "failed", None, "active"),
        (["met"], ["invalid"], "invalid", None, "active"),
        (["crashed"], ["met"], "failed", None, "active"),
        (["crashed"], ["crashed"], "crashed", 1, "active"),
        (["disqualified"], ["disqualified"], "disqualified", 1, "active"),
    ],
)
def test_a_pair_is_one_attempt_with_one_decision(
    world: World,
    contract: ContractVersion,
    ours: list[Any],
    theirs: list[Any],
    decision: str,
    attempt: int | None,
    stage: str,
) -> None:
    run = concluded(world, contract, ours, theirs)
    assert (run.decision, run.attempt) == (decision, attempt)
    assert fresh(contract.engagement).stage == stage
    assert run.counterpart is not None
    assert (run.counterpart.attempt, run.counterpart.decision) == (None, "")
    assert run.counterpart.concluded_at == run.concluded_at
    without = {"failed", "crashed"} & {*ours, *theirs}
    verb = "run.failed" if without else "run.concluded"
    assert contract.engagement.events.filter(verb=verb).count() == 1


def test_noise_of_one_measurement_is_no_agreement(world: World, contract: ContractVersion) -> None:
    for theirs, code in (("noisy", explanations.NOISE_OF_ONE), ("met", explanations.AGREEMENT)):
        run = concluded(world, contract, ["met"], [theirs])
        assert explanations.explain(run, run.run.record.summary).reason.startswith(code)


def test_one_measurement_alone_decides_nothing(world: World, contract: ContractVersion) -> None:
    asked = measured(world.request(contract), "met")
    assert asked.counterpart is not None
    tasks.conclude_run(asked.run_id)
    tasks.sweep()
    asked.refresh_from_db()
    assert (asked.concluded_at, asked.decision) == (None, "")
    assert fresh(contract.engagement).stage == "active"
    with declined("run.acceptance_in_progress"):
        world.request(contract)
    with declined("run.acceptance_running"):
        runs.cancel(run=asked.counterpart, by=world.consultant)


def test_a_pair_is_cancelled_as_a_whole(world: World, contract: ContractVersion) -> None:
    asked = world.request(contract)
    assert asked.counterpart is not None
    runs.cancel(run=asked.counterpart, by=world.consultant)
    runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))
    rows = EngagementRun.objects.filter(engagement=contract.engagement)
    assert {(row.run.state, row.concluded_at is None) for row in rows} == {("failed", False)}


def test_the_last_attempt_that_disagrees_waits_for_a_repeat(world: World, key: SigningKey) -> None:
    contract = world.active(place="both", acceptance_runs=1)
    run = concluded(world, contract, ["met"], ["missed"])
    assert fresh(contract.engagement).stage == "active"
    with declined("run.attempts_used_up"):
        world.request(contract)
    assert disputes.blocking_error(run) is None
    attempts.declare_final(run=run, by=world.consultant)
    assert fresh(contract.engagement).stage == "missed"


@pytest.mark.parametrize(
    ("place", "verdict", "decision", "stage"),
    [
        ("house", "crashed", "crashed", "missed"),
        ("house", "failed", "failed", "active"),
        # No signed record shows that it crashed there.
        ("customer", "crashed", "failed", "active"),
    ],
)
def test_a_crash_of_the_candidate_counts_and_an_interruption_does_not(
    world: World, key: SigningKey, place: str, verdict: str, decision: str, stage: str
) -> None:
    contract = world.active(place=place, acceptance_runs=1)
    run = world.conclude(world.request(contract), verdict)
    assert run.decision == decision
    assert fresh(contract.engagement).stage == stage


def test_the_database_holds_the_pair(world: World, contract: ContractVersion) -> None:
    asked = measured(world.request(contract), "met")
    assert asked.counterpart is not None
    measured(asked.counterpart, "met", 5.0)

    rows = EngagementRun.objects.filter(pk=asked.pk)
    now = timezone.now()
    with violates("run.decided_otherwise"):
        rows.update(decision="met", concluded_at=now)
    with violates("run.decided_otherwise"):
        rows.update(decision="crashed", concluded_at=now)
    with violates("engagementrun.counterpart_held"):
        rows.update(counterpart=None)
    runs.conclude(run=EngagementRun.objects.get(pk=asked.pk))
    with violates("engagementrun.concluded"):
        rows.update(decision="met")
    with violates("run.pair"):
        EngagementRun.objects.create(
            engagement=contract.engagement,
            contract_version=contract,
            purpose="acceptance",
            requested_by=world.consultant,
            run=asked.run,
        )


def test_both_parties_see_both_figures(
    world: World, contract: ContractVersion, key: SigningKey, client: Client
) -> None:
    run = concluded(world, contract, ["met"], ["missed", None, key])
    assert run.counterpart is not None
    reference = contract.engagement.reference
    pages = [("run", world.consultant), ("portal-run", world.viewer)]
    for (page, user), shown in product(pages, (run, run.counterpart)):
        client.force_login(user)
        text = client.get(reverse(page, args=[reference, shown.pk])).content.decode()
        assert with_interval(2.4, 2.3, 2.5) in text, page
        assert with_interval(1.1, 1.0, 1.2) in text, page
        other = run.counterpart if shown == run else run
        assert reverse(page, args=[reference, other.pk]) in text
        client.force_login(world.stranger)
        assert client.get(reverse(page, args=[reference, shown.pk])).status_code == 404
    verified = client.get(reverse("verify-document"), {"digest": run.run.record.digest})
    for figures in (with_interval(2.4, 2.3, 2.5), with_interval(1.1, 1.0, 1.2)):
        assert figures in verified.content.decode()
    api = Program(world.viewer)
    asked = api.get(f"runs/{run.pk}/").json()
    assert (asked["verdict"], asked["measured_by"]) == ("disagreed", "house")
    theirs = api.get(f"runs/{asked['counterpart']}/").json()
    assert (theirs["verdict"], theirs["measured_by"]) == ("missed", "customer")
    assert theirs["record"]["signer"]["party"] == "customer"


def test_a_revoked_key_asks_for_a_review_and_a_retired_one_does_not(
    world: World, contract: ContractVersion, key: SigningKey
) -> None:
    concluded(world, contract, ["met"], ["met", 2.4, key])
    reviews = contract.engagement.events.filter(verb="run.key_revoked")
    runner = Runner.objects.get(key=key)
    runners.retire(runner=runner, by=world.signatory)
    key.refresh_from_db()
    assert (key.retired_at is None, key.revoked_at, reviews.count()) == (False, None, 0)
    runners.revoke(runner=runner, by=world.signatory)
    assert reviews.count() == 1
