"""A runner of a customer, as its program speaks to the site."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks.models import Run
from benchmarks.records import records, signatures
from benchmarks.services import solutions
from benchmarks.verdict import consistency
from engagements.api.runner_resources import content_digest
from engagements.people.models import Customer, User
from engagements.runners import services
from engagements.runners.models import Runner
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from tests.engagements.charts.measured import CPU, SOURCE, record
from tests.engagements.world import World


@dataclass
class Machine:
    """A registered machine with a key of its own."""

    runner: Runner
    key: signatures.SigningKey
    client: Client

    def introduce(self, **changes: str) -> Any:
        stated = {
            "device": "cpu",
            "device_name": str(CPU["name"]),
            "public_key": self.key.public.pem(),
        } | changes
        return self.call("put", "", stated)

    def claim(self) -> Any:
        return self.call("post", "claim/")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        url = f"/api/v1/runner/{path}"
        if method == "get":
            return self.client.get(url)
        return getattr(self.client, method)(url, body, content_type="application/json")

    def attempt(self, pk: int, what: str, body: Any = None, method: str = "put") -> Any:
        return self.call(method, f"attempts/{pk}/{what}/", body)

    def hand_in(self, pk: int, content: bytes, digest: str | None = None) -> Any:
        named = content_digest(content) if digest is None else digest
        return self.client.put(
            f"/api/v1/runner/attempts/{pk}/record/",
            content,
            content_type="application/json",
            headers={"Content-Digest": named},
        )

    def record(self, claimed: dict[str, Any], **changes: Any) -> bytes:
        """A record of the attempt, signed with this machine's key."""
        run = Run.objects.select_related("benchmark", "solution").get(pk=claimed["run"])
        nonces = changes.pop("nonces", {"site": claimed["nonces"]["site"]})
        key = changes.pop("key", self.key)
        given = {"document": run.benchmark.document, "source": run.solution.source} | changes
        return records.serialize(consistency.seal({**record(**given), "nonces": nonces}), key)


def machine(folder: Path, name: str, *, by: User, customer: Customer | None) -> Machine:
    """Register a machine, not yet started."""
    runner, token = services.register(name=name, customer=customer, by=by)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    return Machine(runner, signatures.make_key(folder / f"{name}.key"), client)


@pytest.fixture(autouse=True)
def forget_rate_limits(empty_rate_limits: None) -> None:
    """Start every test with no request counted."""


@pytest.fixture
def theirs(world: World, tmp_path: Path) -> Machine:
    """A started runner of the world's customer."""
    made = machine(tmp_path, "box", by=world.signatory, customer=world.customer)
    assert made.introduce().status_code == 200
    return made


@pytest.fixture
def strangers(world: World, tmp_path: Path) -> Machine:
    """A started runner of another customer."""
    made = machine(tmp_path, "other", by=world.stranger, customer=world.other_customer)
    assert made.introduce().status_code == 200
    return made


def requested(world: World, **changes: Any) -> EngagementRun:
    """A trial on the customer's runner."""
    solution = solutions.submit(
        name="mine", operator=world.benchmark.operator, filename="mine.py", source=SOURCE
    )
    given: dict[str, Any] = {
        "solution": solution,
        "purpose": "trial",
        "request_key": uuid.uuid4(),
        "benchmark": world.benchmark,
        "place": "customer",
        "by": world.consultant,
    }
    return runs.request(**given | changes)
