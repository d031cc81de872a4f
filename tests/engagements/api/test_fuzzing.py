"""Requests that fit the schema, of every role: no 500, and no answer outside the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from consultancy.wsgi import application
from engagements.api.throttles import AccountThrottle
from engagements.notifications.webhooks import services as webhooks
from engagements.people import api_tokens
from engagements.people.token_models import Scope
from tests.engagements.world import World

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def loaded(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The schema over the site itself, without a rate limit, in the test's transaction."""
    monkeypatch.setattr(AccountThrottle, "rate", "1000000/min")
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield schemathesis.openapi.from_wsgi("/api/v1/schema/", application)
    for signal in signals:
        signal.connect(close_old_connections)


def fuzz(loaded: Any, world: World, who: str, examples: int) -> int:
    """Call every operation as this person and return how many calls were checked."""
    person, called = getattr(world, who), 0
    _, value = api_tokens.create(owner=person, name="Fuzz", scopes=Scope.values, by=person)
    headers = {"Authorization": f"Bearer {value}"}
    for found in loaded.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/events/",)):
            continue

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def call(case: Any) -> None:
            nonlocal called
            with transaction.atomic():
                response = case.call(headers=headers)
                transaction.set_rollback(True)
            case.validate_response(response, checks=CHECKS)
            called += 1

        call()
    return called


def populated(world: World) -> World:
    """Rows of every resource."""
    webhooks.create(
        url="https://example.com/", topics=["runs"], customer=world.customer, by=world.signatory
    )
    world.settlement()
    return world


def test_no_request_as_the_consultant_breaks_the_api(loaded: Any, world: World) -> None:
    assert fuzz(loaded, populated(world), "consultant", examples=2) > 40


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "who", ["consultant", "finance", "admin", "signatory", "viewer", "stranger", "nobody"]
)
def test_no_request_of_anybody_breaks_the_api(loaded: Any, world: World, who: str) -> None:
    assert fuzz(loaded, populated(world), who, examples=100) > 2000
