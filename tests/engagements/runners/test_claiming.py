"""A runner gets the runs of its party alone, one at a time, and only the bytes that were sealed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import tasks
from benchmarks.models import Run
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.services import leases, sweeping
from benchmarks.services import runs as measuring
from engagements.engagement.models import Engagement
from engagements.runners import services
from engagements.runners.models import RunnerAttempt
from engagements.runs.models import EngagementRun
from tests.benchmarks.conftest import lose_the_worker
from tests.database_constraints import violates, write
from tests.engagements.api_program import Program
from tests.engagements.runners.conftest import Machine, machine, requested
from tests.engagements.world import World
from tests.errors import declined

pytestmark = pytest.mark.django_db


@pytest.fixture
def engagement(world: World) -> Engagement:
    return world.active().engagement


@pytest.fixture
def asked(world: World, engagement: Engagement, theirs: Machine) -> EngagementRun:
    return requested(world, engagement=engagement)


def test_a_run_goes_to_the_runners_of_its_customer_alone(
    world: World, asked: EngagementRun, theirs: Machine, strangers: Machine, tmp_path: Path
) -> None:
    house = machine(tmp_path, "house", by=world.admin, customer=None)
    house.introduce()
    assert {strangers.claim().status_code, house.claim().status_code} == {204}
    assert measuring.claim(run_id=asked.run_id, worker="celery") is None
    assert tasks.measure(asked.run_id) == "nothing to do"
    assert sweeping.sweep().sent == 0
    claimed = theirs.claim()
    assert (claimed.status_code, claimed.json()["run"]) == (200, asked.run_id)
    pk = claimed.json()["id"]
    for path in ("benchmark", "candidate"):
        assert strangers.attempt(pk, path, method="get").status_code == 404
    for path in ("progress", "record", "failure"):
        assert strangers.attempt(pk, path, {"reason": ""}).status_code == 404
    assert strangers.attempt(pk, "release", method="post").status_code == 404
    for person in (world.signatory, world.consultant):
        assert Program(person, "read").get("runner/").status_code == 404


def test_the_files_have_the_digests_that_the_site_named(
    asked: EngagementRun, theirs: Machine
) -> None:
    claimed = theirs.claim().json()
    for name in ("benchmark", "candidate"):
        got = theirs.attempt(claimed["id"], name, method="get")
        assert digest_of_bytes(got.content) == claimed[name]["digest"]
    assert claimed["benchmark"]["digest"] == asked.run.benchmark.digest
    theirs.attempt(claimed["id"], "failure", {"reason": "no memory", "code": "interrupted"})
    assert theirs.attempt(claimed["id"], "candidate", method="get").status_code == 410


def test_a_runner_has_one_run_and_gets_it_again_until_it_begins(
    world: World, engagement: Engagement, asked: EngagementRun, theirs: Machine
) -> None:
    requested(world, engagement=engagement)
    first = theirs.claim().json()
    assert theirs.claim().json() == first
    reported = theirs.attempt(first["id"], "progress", {"progress": {"phase": "measuring"}})
    assert reported.status_code == 204
    again = theirs.claim().json()
    assert (again["run"], again["attempt"]) == (first["run"], 2)
    assert again["nonces"] != first["nonces"]
    assert RunnerAttempt.objects.count() == 2
    assert theirs.attempt(first["id"], "progress", {}).status_code == 410


def test_an_expired_lease_returns_the_run_and_a_late_report_resumes_it_if_it_is_free(
    asked: EngagementRun, theirs: Machine
) -> None:
    claimed = theirs.claim().json()
    lose_the_worker(asked.run)
    assert sweeping.sweep().requeued == 1
    assert theirs.attempt(claimed["id"], "progress", {}).status_code == 204
    run = Run.objects.get(pk=asked.run_id)
    assert (run.state, run.attempt) == ("running", claimed["attempt"])
    theirs.attempt(claimed["id"], "release", method="post")
    assert Run.objects.get(pk=asked.run_id).state == "queued"


def test_progress_is_what_a_worker_reports_and_nothing_else(
    asked: EngagementRun, theirs: Machine
) -> None:
    pk = theirs.claim().json()["id"]
    progress: dict[str, Any] = {
        "phase": "<b>",
        "replicate": -1,
        "rounds": 5,
        "ratio": 2.5,
        "low": "2",
        "worker": "x" * 10_000,
        "history": [{"at_s": 1.0, "ratio": 2.5, "low": None, "more": 1}, 7, {"at_s": "soon"}],
    }
    theirs.attempt(pk, "progress", {"progress": progress})
    kept = Run.objects.get(pk=asked.run_id).progress
    assert kept == {
        "phase": "starting",
        "message": "",
        "replicate": None,
        "replicates": None,
        "round": None,
        "rounds": 5,
        "ratio": 2.5,
        "low": None,
        "high": None,
        "history": [{"at_s": 1.0, "ratio": 2.5, "low": None, "high": None}],
    }


def test_only_a_device_as_sealed_is_given_a_run(asked: EngagementRun, theirs: Machine) -> None:
    theirs.introduce(device="cuda", device_name="NVIDIA H200")
    assert theirs.claim().status_code == 204
    theirs.introduce()
    assert theirs.claim().status_code == 200


def test_a_runner_keeps_its_key_and_cannot_take_anothers(
    world: World, theirs: Machine, strangers: Machine, tmp_path: Path
) -> None:
    new = machine(tmp_path, "new", by=world.signatory, customer=world.customer)
    assert new.claim().json()["code"] == "runner.no_key"
    tried = {
        "key.other_owner": strangers.key,
        "runner.key_in_use": theirs.key,
    }
    for code, key in tried.items():
        assert new.introduce(public_key=key.public.pem()).json()["code"] == code
    other = theirs.introduce(public_key=new.key.public.pem())
    assert other.json()["code"] == "runner.other_key"
    with violates("runner.key"):
        write(theirs.runner, key=None, device="", device_name="")


def test_a_revoked_runner_is_out_with_its_token_and_its_key(
    world: World, asked: EngagementRun, theirs: Machine
) -> None:
    services.revoke(runner=theirs.runner, by=world.admin)
    assert theirs.claim().status_code == 401
    theirs.runner.refresh_from_db()
    assert theirs.runner.key is not None
    assert theirs.runner.key.revoked_at is not None
    with violates("runner.ended"):
        write(theirs.runner, ended_at=None, ended_by=None)
    with declined("run.no_runner"):
        requested(world, engagement=asked.engagement)


def test_a_run_that_no_runner_claims_fails_after_a_while(
    asked: EngagementRun, settings: Any
) -> None:
    assert sweeping.sweep().failed == 0
    settings.TWOFOLD_RUN_LIMITS = {"unclaimed_s": 0.0}
    assert sweeping.sweep().failed == 1
    assert Run.objects.get(pk=asked.run_id).state == "failed"
    assert not leases.resume(Run, asked.run_id, 0)
