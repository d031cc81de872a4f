"""What may be asked how often, counted in one place for all processes."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache import CacheHandler, cache, caches
from django.core.cache.backends.redis import RedisCache
from django.test import override_settings

from consultancy import shared_cache
from consultancy.environment import cache_of
from engagements.common import rate_limits
from engagements.common.rate_limits import Busy, Rate, RateLimited

RATE = Rate("test", most=3, window_s=60)
HOME = "192.0.2.1"


@pytest.fixture(params=["valkey", "down"])
def shared(request: pytest.FixtureRequest) -> Iterator[str]:
    """A cache beside a real broker, or beside one that does not answer."""
    url = "redis://127.0.0.1:1/0"
    if request.param == "valkey":
        url = request.getfixturevalue("broker_url")
    with override_settings(CACHES={"default": cache_of(url)}):
        cache.clear()
        yield request.param


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still until a test moves it."""
    now = [6_000_000.0]
    monkeypatch.setattr(rate_limits.time, "time", lambda: now[0])
    return now


def refused(address: str | None = HOME) -> bool:
    """Whether one more is one too many."""
    try:
        rate_limits.count(RATE, address)
    except RateLimited:
        return True
    return False


def test_so_many_are_let_through_and_then_none(shared: str, clock: list[float]) -> None:
    assert [refused() for _ in range(5)] == [False] * 3 + [True] * 2
    assert not refused("192.0.2.2")
    clock[0] += 60
    assert not refused()


def test_how_long_to_wait_is_said(shared: str, clock: list[float]) -> None:
    clock[0] += 20
    for _ in range(3):
        rate_limits.count(RATE, HOME)
    with pytest.raises(RateLimited) as caught:
        rate_limits.count(RATE, HOME)
    assert caught.value.retry_after_s == 41


def test_a_household_of_ipv6_counts_as_one(shared: str, clock: list[float]) -> None:
    addresses = [f"2001:db8:1:1::{number}" for number in range(4)]
    assert [refused(address) for address in addresses] == [False] * 3 + [True]
    assert not refused("2001:db8:1:2::1")


def test_clients_without_an_address_are_counted_too(shared: str, clock: list[float]) -> None:
    assert [refused(None) for _ in range(4)] == [False] * 3 + [True]


def test_threads_at_once_get_no_more_than_there_is(shared: str, clock: list[float]) -> None:
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: refused(), range(20)))
    assert outcomes.count(False) == RATE.most


def test_what_one_process_has_counted_another_knows(broker_url: str) -> None:
    """A code of the second factor is used once, and failures to sign in are added up."""
    one, another = (CacheHandler({"default": cache_of(broker_url)})["default"] for _ in range(2))
    assert one.add("code", "used")
    assert not another.add("code", "used")
    one.set("failures", [1.0, 2.0])
    assert another.get("failures") == [1.0, 2.0]


def test_places_are_taken_and_given_back(shared: str) -> None:
    one, another, third = (rate_limits.slot("test", most=2, at_most_s=60) for _ in range(3))
    with one, another, pytest.raises(Busy), third:
        pass
    with pytest.raises(ZeroDivisionError), rate_limits.slot("test", most=1, at_most_s=60):
        raise ZeroDivisionError
    with rate_limits.slot("test", most=1, at_most_s=60):
        pass


def test_no_address_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    keys: list[Any] = []
    monkeypatch.setattr(caches["default"], "add", lambda key, *a, **k: keys.append(key))
    rate_limits.count(RATE, HOME)
    assert keys
    assert not any(HOME in key for key in keys)


@pytest.mark.parametrize(
    ("wait_s", "said"),
    [
        (1, "1 second"),
        (45, "45 seconds"),
        (100, "2 minutes"),
        (120, "2 minutes"),
        (377, "7 minutes"),
    ],
)
def test_a_wait_is_said_as_a_person_would_and_never_too_short(wait_s: int, said: str) -> None:
    assert RateLimited(wait_s).wait_text == said


def test_a_cache_that_is_silent_is_waited_for_once_and_not_by_every_page() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        away = CacheHandler({"default": cache_of(url)})["default"]
        away.add("first", 1)
        began = time.monotonic()
        for _ in range(5):
            away.add("attempts", 0)
            away.incr("attempts")
        assert time.monotonic() - began < 0.5
        assert away.get("attempts") == 5


def test_a_cache_that_is_back_is_asked_again(
    broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one: Any = CacheHandler({"default": cache_of(broker_url)})["default"]
    with monkeypatch.context() as patch:
        patch.setattr(RedisCache, "set", fail)
        one.set("known", "here alone")
    assert one.get("known") == "here alone"
    monkeypatch.setattr(shared_cache.time, "monotonic", lambda: one.retry_at)
    assert one.get("known") is None


def fail(*_: object, **__: object) -> None:
    raise OSError("no route")
