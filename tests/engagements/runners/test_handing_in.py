"""A record concludes its run once; a runner that lies is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.errors import RecordRejected
from benchmarks.models import Record, Run
from benchmarks.records import records, signatures
from benchmarks.services import runs as measuring
from benchmarks.services import sweeping
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from tests import referee_key
from tests.benchmarks.conftest import lose_the_worker
from tests.engagements.charts.measured import CPU
from tests.engagements.runners.conftest import Machine, requested
from tests.engagements.world import World, undone
from tests.errors import declined

pytestmark = pytest.mark.django_db
Claimed = dict[str, Any]


@pytest.fixture
def asked(world: World, theirs: Machine) -> EngagementRun:
    return requested(world, engagement=world.active().engagement)


@pytest.fixture
def claimed(asked: EngagementRun, theirs: Machine) -> Claimed:
    answer: Claimed = theirs.claim().json()
    return answer


def test_a_record_concludes_the_run_once(
    asked: EngagementRun, theirs: Machine, claimed: Claimed
) -> None:
    # While the network was down, the sweep returned the run to the queue.
    lose_the_worker(asked.run)
    sweeping.sweep()
    content = theirs.record(claimed)
    receipt = theirs.hand_in(claimed["id"], content)
    assert receipt.status_code == 200, receipt.content
    kept = Record.objects.get(run=asked.run_id)
    assert receipt.json() == {"digest": kept.digest, "verdict": "met"}
    assert (kept.nonce, kept.attempt) == (claimed["nonces"]["site"], 1)
    assert kept.signed_by is not None
    assert (kept.signed_by.name, kept.signed_by.owner) == ("box", theirs.runner.party)
    # The answer got lost.
    assert theirs.hand_in(claimed["id"], content).json() == receipt.json()
    second = theirs.hand_in(claimed["id"], theirs.record(claimed, speedup=2.6))
    assert (second.status_code, second.json()["code"]) == (422, "record.used_nonce")
    assert Record.objects.get(run=asked.run_id) == kept
    assert Run.objects.get(pk=asked.run_id).state == "finished"
    theirs.runner.refresh_from_db()
    assert theirs.runner.matches_calibration is None


def foreign_key(machine: Machine, claimed: Claimed) -> bytes:
    referee_key.register()
    return machine.record(claimed, key=referee_key.KEY)


def unknown_key(machine: Machine, claimed: Claimed) -> bytes:
    key = signatures.private_key(b"A" * 43 + b"=")
    return machine.record(claimed, key=key)


def other_nonce(machine: Machine, claimed: Claimed) -> bytes:
    return machine.record(claimed, nonces={"site": "0" * 64})


def no_nonce(machine: Machine, claimed: Claimed) -> bytes:
    return machine.record(claimed, nonces={})


def other_device(machine: Machine, claimed: Claimed) -> bytes:
    return machine.record(claimed, device={**CPU, "name": "Another processor"})


def other_source(machine: Machine, claimed: Claimed) -> bytes:
    return machine.record(claimed, source="def run(): ...\n")


def changed_figures(machine: Machine, claimed: Claimed) -> bytes:
    honest = records.load(machine.record(claimed))
    honest["summary"]["ratio"] = 9.0
    return records.serialize(honest, machine.key)


LIES: dict[str, Callable[[Machine, Claimed], bytes]] = {
    "record.foreign_key": foreign_key,
    "record.unknown_key": unknown_key,
    "record.other_nonce": other_nonce,
    "record.other_nonce ": no_nonce,
    "record.other_device": other_device,
    "record.other_source": other_source,
    "record.contradictory": changed_figures,
}


def test_a_lie_is_refused_and_fails_the_run(
    asked: EngagementRun, theirs: Machine, claimed: Claimed
) -> None:
    for code, lie in LIES.items():
        with undone():
            answer = theirs.hand_in(claimed["id"], lie(theirs, claimed))
            assert (answer.status_code, answer.json()["code"]) == (422, code.strip())
            assert Run.objects.get(pk=asked.run_id).state == "failed"
            assert not Record.objects.filter(run=asked.run_id).exists()


def test_a_record_of_another_run_is_refused(
    world: World, asked: EngagementRun, theirs: Machine, claimed: Claimed
) -> None:
    content = theirs.record(claimed)
    theirs.hand_in(claimed["id"], content)
    requested(world, engagement=asked.engagement)
    later = theirs.claim().json()
    assert theirs.hand_in(later["id"], content).json()["code"] == "record.other_nonce"


def test_a_damaged_or_a_huge_upload_changes_nothing(
    asked: EngagementRun, theirs: Machine, claimed: Claimed, settings: Any
) -> None:
    content = theirs.record(claimed)
    damaged = theirs.hand_in(claimed["id"], content[:-9], "sha-256=:AAAA:")
    assert damaged.json()["code"] == "runner.damaged_upload"
    settings.TWOFOLD_RUN_LIMITS = {"record_bytes": 100}
    huge = theirs.hand_in(claimed["id"], content)
    assert (huge.status_code, huge.json()["code"]) == (413, "record.too_large")
    settings.TWOFOLD_RUN_LIMITS = {}
    assert Run.objects.get(pk=asked.run_id).state == "running"
    assert theirs.hand_in(claimed["id"], content).status_code == 200


def test_a_customers_key_signs_no_run_of_the_consultancy(
    world: World, asked: EngagementRun, theirs: Machine
) -> None:
    house = requested(world, engagement=asked.engagement, place="house")
    mine = measuring.claim(run_id=house.run_id, worker="celery")
    assert mine is not None
    content = theirs.record({"run": house.run_id, "nonces": {"site": mine.nonce}})
    with pytest.raises(RecordRejected) as refused:
        measuring.finish(run_id=house.run_id, attempt=1, record_bytes=content)
    assert refused.value.code == "record.foreign_key"


def test_the_contract_says_who_measures_and_signs_acceptance_runs(
    world: World, client: Client, theirs: Machine
) -> None:
    given = {"purpose": "acceptance", "benchmark": None, "place": None}
    contract = world.active(place="customer")
    with declined("run.place"):
        requested(world, engagement=contract.engagement, **given | {"place": "house"})
    asked = requested(world, engagement=contract.engagement, **given)
    claimed = theirs.claim().json()
    assert claimed["run"] == asked.run_id
    assert theirs.hand_in(claimed["id"], theirs.record(claimed)).status_code == 200
    runs.conclude(run=asked)
    contract.engagement.refresh_from_db()
    assert contract.engagement.stage == "met"
    client.force_login(world.signatory)
    page = client.get(reverse("portal-run", args=[contract.engagement.reference, asked.pk]))
    shown = " ".join(page.content.decode().split())
    assert f'signed by box of the customer, key <a href="/keys/{theirs.key.public.id}.pub' in shown
    house = world.active()
    with declined("run.place"):
        requested(world, engagement=house.engagement, **given | {"place": "customer"})
    assert requested(world, engagement=house.engagement, **given).run.measured_by == ""
