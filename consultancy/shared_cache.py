"""The cache shared by all web processes: rate limits, used codes, counted pitches.

It lives in the broker's server and may lose its content. While that server does not respond, each
process counts for itself and retries only every RETRY_INTERVAL_S: a silent server would otherwise
delay every page by its timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

_UNAVAILABLE = (RedisError, OSError)
RETRY_INTERVAL_S = 5.0


def _with_fallback(name: str) -> Callable[..., Any]:
    """A cache method that uses this process's own cache while Redis is unavailable."""

    def call(self: SharedCache, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= self.retry_at:
            try:
                return getattr(RedisCache, name)(self, *args, **kwargs)
            except _UNAVAILABLE:
                self.retry_at = time.monotonic() + RETRY_INTERVAL_S
        return getattr(self.local, name)(*args, **kwargs)

    return call


class SharedCache(RedisCache):
    """Django's Redis cache with an in-process fallback."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.local = LocMemCache("local", params)
        self.retry_at = 0.0

    add = _with_fallback("add")
    get = _with_fallback("get")
    set = _with_fallback("set")
    incr = _with_fallback("incr")
    delete = _with_fallback("delete")

    def clear(self) -> None:
        self.local.clear()
        with suppress(*_UNAVAILABLE):
            super().clear()
