"""The API limits requests by account, and rejected requests by network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings

from consultancy.environment import cache_of
from engagements.api.throttles import AccountThrottle, RejectedThrottle
from tests.engagements import evidence_world
from tests.engagements.api_program import Program
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
PROXY = override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))


@pytest.fixture(params=["valkey", "down"], autouse=True)
def shared_cache(request: pytest.FixtureRequest) -> Iterator[None]:
    """A cache beside a real broker, or beside one that does not answer."""
    url = "redis://127.0.0.1:1/0"
    if request.param == "valkey":
        url = request.getfixturevalue("broker_url")
    with override_settings(CACHES={"default": cache_of(url)}):
        cache.clear()
        yield


@pytest.fixture(autouse=True)
def three_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AccountThrottle, "rate", "3/min")
    monkeypatch.setattr(RejectedThrottle, "rate", "3/min")


def statuses(client: Client, number: int, headers: dict[str, str] | None = None) -> list[int]:
    address = "/api/v1/engagements/"
    return [client.get(address, headers=headers).status_code for _ in range(number)]


def test_requests_are_limited_by_account(client: Client, world: World) -> None:
    with PROXY:
        client.force_login(world.signatory)
        for number in range(3):
            headers = {"X-Forwarded-For": f"192.0.2.{number}"}
            answer = client.get("/api/v1/engagements/", headers=headers)
            assert answer.status_code == 200
            assert answer["RateLimit-Policy"] == '"account";q=3;w=60'
            assert answer["RateLimit"].startswith(f'"account";r={2 - number};t=')
        throttled = client.get("/api/v1/engagements/")
        assert (throttled.status_code, throttled.json()["code"]) == (429, "throttled")
        assert 0 < int(throttled["Retry-After"]) <= 60
        other = Client()
        other.force_login(world.viewer)
        assert statuses(other, 1, headers={"X-Forwarded-For": "192.0.2.9"}) == [200]


@pytest.mark.parametrize("token", [None, "a.wrong.one"])
def test_rejected_requests_are_limited_by_network(
    client: Client, world: World, token: str | None
) -> None:
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    address = "/api/v1/evidence/"
    with PROXY:

        def status(written: str) -> int:
            headers = {"X-Forwarded-For": written, **sent}
            return client.get(address, headers=headers).status_code

        answers = [status(f"192.0.2.{number}, 203.0.113.9") for number in range(4)]
        assert answers == [401, 401, 401, 429]
        assert status("203.0.113.10") == 401
        client.force_login(world.consultant)
        assert client.get(address, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 200


def test_uploads_of_evidence_are_not_limited(world: World) -> None:
    program, reference = Program(world.consultant).client, world.scoping().reference
    address = "/api/v1/evidence/"
    answers = []
    for _ in range(5):
        file = SimpleUploadedFile("calls.csv", evidence_world.TRAFFIC)
        sent = {"engagement": reference, "file": file}
        answers.append(program.post(address, sent).status_code)
    assert answers == [201] * 5
    asked = [program.get(address).status_code for _ in range(4)]
    assert asked == [200, 200, 200, 429]
