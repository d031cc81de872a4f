"""The API refuses who asks too often, in its own words, and holds up no file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse

from consultancy.environment import cache_of
from engagements.api import errors, throttling
from engagements.common import rate_limits
from engagements.common.rate_limits import Rate
from engagements.people import api_tokens
from tests.engagements import evidence_world as kept
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
PROXY = override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))


@pytest.fixture(params=["valkey", "down"], autouse=True)
def shared(request: pytest.FixtureRequest) -> Iterator[None]:
    """A cache beside a real broker, or beside one that does not answer."""
    url = "redis://127.0.0.1:1/0"
    if request.param == "valkey":
        url = request.getfixturevalue("broker_url")
    with override_settings(CACHES={"default": cache_of(url)}):
        cache.clear()
        yield


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Three a minute, in a minute of which twenty seconds are over; the clock stands still."""
    monkeypatch.setattr(throttling, "ACCOUNTS", Rate("api", most=3, window_s=60))
    monkeypatch.setattr(errors, "STRANGERS", Rate("api-refused", most=3, window_s=60))
    now = [6_000_020.0]
    monkeypatch.setattr(rate_limits.time, "time", lambda: now[0])
    return now


def statuses(client: Client, number: int, headers: dict[str, str] | None = None) -> list[int]:
    address = reverse("api-engagements")
    return [client.get(address, headers=headers).status_code for _ in range(number)]


def test_an_account_that_asks_too_often_is_told_how_long_to_wait(
    client: Client, world: World, few: list[float]
) -> None:
    client.force_login(world.signatory)
    assert statuses(client, 3) == [200] * 3
    refused = client.get(reverse("api-engagements"))
    assert (refused.status_code, refused["Retry-After"]) == (429, "41")
    assert refused["Content-Type"] == "application/json"
    assert refused.json() == {"detail": "Too many requests: try again in 41 seconds."}
    few[0] += 41
    assert statuses(client, 1) == [200]


def test_an_account_is_counted_from_wherever_and_holds_up_no_other(
    client: Client, world: World
) -> None:
    with PROXY:
        client.force_login(world.signatory)
        for number in range(3):
            headers = {"X-Forwarded-For": f"192.0.2.{number}"}
            assert statuses(client, 1, headers=headers) == [200]
        assert statuses(client, 1, headers={"X-Forwarded-For": "192.0.2.9"}) == [429]
        other = Client()
        other.force_login(world.viewer)
        assert statuses(other, 1, headers={"X-Forwarded-For": "192.0.2.9"}) == [200]


@pytest.mark.parametrize("token", [None, "a.wrong.one"])
def test_who_is_not_let_in_is_counted_by_the_address_that_the_proxy_names(
    client: Client, world: World, token: str | None
) -> None:
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    address = reverse("api-evidence", args=[world.scoping().reference])
    with PROXY:

        def status(written: str) -> int:
            headers = {"X-Forwarded-For": written, **sent}
            return client.get(address, headers=headers).status_code

        answers = [status(f"192.0.2.{number}, 203.0.113.9") for number in range(4)]
        assert answers == [403, 403, 403, 429]
        assert status("203.0.113.10") == 403
        client.force_login(world.consultant)
        assert client.get(address, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 200


def test_a_program_sends_as_many_files_as_it_has(world: World) -> None:
    address = reverse("api-evidence", args=[world.scoping().reference])
    headers = {"Authorization": f"Bearer {api_tokens.issue(world.consultant)}"}
    program = Client()
    answers = []
    for _ in range(5):
        file = SimpleUploadedFile("calls.csv", kept.TRAFFIC)
        answers.append(program.post(address, {"file": file}, headers=headers).status_code)
    assert answers == [201] * 5
    asked = [program.get(address, headers=headers).status_code for _ in range(4)]
    assert asked == [200, 200, 200, 429]
