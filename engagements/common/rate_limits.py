"""Rate limits and concurrency limits of public pages, shared by all web processes."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.crypto import salted_hmac


class RateLimited(Exception):
    """The client has to wait for `retry_after_s` seconds."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Try again in {retry_after_s} seconds.")
        self.retry_after_s = retry_after_s

    @property
    def wait_text(self) -> str:
        """The wait as text, rounded up."""
        if self.retry_after_s >= 100:
            return f"{-(-self.retry_after_s // 60)} minutes"
        return f"{self.retry_after_s} second{'' if self.retry_after_s == 1 else 's'}"


class Busy(RateLimited):
    """All slots are taken."""


@dataclass(frozen=True)
class Rate:
    """At most `most` requests in each window of `window_s` seconds."""

    name: str
    most: int
    window_s: int


def count(rate: Rate, address: str | None) -> None:
    """Count a request from this address. Raises RateLimited once its window is full."""
    now = time.time()
    window = int(now // rate.window_s)
    key = f"rate:{rate.name}:{_group(address)}:{window}"
    if _increment(key, rate.window_s) > rate.most:
        raise RateLimited(max(1, int((window + 1) * rate.window_s - now) + 1))


@contextmanager
def slot(name: str, *, most: int, at_most_s: int) -> Iterator[None]:
    """Hold one of `most` slots of all processes together. Raises Busy when none is free.

    The slot of a killed process is released after `at_most_s` seconds.
    """
    keys = [f"slot:{name}:{number}" for number in range(most)]
    taken = next((key for key in keys if cache.add(key, 1, timeout=at_most_s)), None)
    if taken is None:
        raise Busy(at_most_s)
    try:
        yield
    finally:
        cache.delete(taken)


def _increment(key: str, window_s: int) -> int:
    cache.add(key, 0, timeout=window_s)
    try:
        return int(cache.incr(key))
    except ValueError:
        # The key expired between the two calls.
        cache.set(key, 1, timeout=window_s)
        return 1


def client_network(address: str | None) -> str | None:
    """Return the network that counts as one client: an IPv4 address, or an IPv6 /64."""
    try:
        ip = ipaddress.ip_address(address or "")
    except ValueError:
        return None
    return str(ipaddress.ip_network((ip, 64 if ip.version == 6 else 32), strict=False))


def _group(address: str | None) -> str:
    """Return the cache key of a client. Hashed, so that no address is stored."""
    network = client_network(address)
    if network is None:
        return "unknown"
    return salted_hmac("engagements.common.rate_limits", network).hexdigest()[:32]
