"""How often an address or an account may ask for what costs us, counted by all web processes."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.crypto import salted_hmac


class TooMany(Exception):
    """It has to wait. `retry_after_s` says how long."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many: try again in {retry_after_s} seconds.")
        self.retry_after_s = retry_after_s

    @property
    def in_words(self) -> str:
        """How long, as a person would say it: never too short."""
        if self.retry_after_s >= 100:
            return f"{-(-self.retry_after_s // 60)} minutes"
        return f"{self.retry_after_s} second{'' if self.retry_after_s == 1 else 's'}"


class Busy(TooMany):
    """All places are taken, by whomever."""


@dataclass(frozen=True)
class Rate:
    """So many in each window of so many seconds."""

    name: str
    most: int
    window_s: int


def count(rate: Rate, address: str | None) -> None:
    """Count one more for this address. TooMany once its window is full."""
    now = time.time()
    window = int(now // rate.window_s)
    key = f"rate:{rate.name}:{_group(address)}:{window}"
    if _increment(key, rate.window_s) > rate.most:
        raise TooMany(max(1, int((window + 1) * rate.window_s - now) + 1))


@contextmanager
def slot(name: str, *, most: int, at_most_s: int) -> Iterator[None]:
    """One of `most` places for all processes together. Busy when none is free.

    A place whose process died is free again after `at_most_s` seconds.
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
        # It ran out between the two.
        cache.set(key, 1, timeout=window_s)
        return 1


def client_network(address: str | None) -> str | None:
    """Who counts as one: an IPv4 address, or the /64 that one household has of IPv6."""
    try:
        ip = ipaddress.ip_address(address or "")
    except ValueError:
        return None
    return str(ipaddress.ip_network((ip, 64 if ip.version == 6 else 32), strict=False))


def _group(address: str | None) -> str:
    """Whose window it is. Hashed: no address is kept."""
    network = client_network(address)
    if network is None:
        return "unknown"
    return salted_hmac("engagements.common.rate_limits", network).hexdigest()[:32]
