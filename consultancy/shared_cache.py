"""What all web processes count together: attempts to sign in, codes that were used, pitches asked.

It is kept beside the broker. Nothing rests on it: it may forget, and while it does not answer
each process counts for itself, and asks it again only now and then: a server that is silent
would hold every page as long as one waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

_DOWN = (RedisError, OSError)
ASKED_AGAIN_AFTER_S = 5.0


def _either(name: str) -> Callable[..., Any]:
    """The method of Redis, or that of this process's own cache while it is away."""

    def ask(self: SharedCache, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= self.asked_again_at:
            try:
                return getattr(RedisCache, name)(self, *args, **kwargs)
            except _DOWN:
                self.asked_again_at = time.monotonic() + ASKED_AGAIN_AFTER_S
        return getattr(self.alone, name)(*args, **kwargs)

    return ask


class SharedCache(RedisCache):
    """Django's cache in Redis, with one of this process for as long as that is away."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.alone = LocMemCache("alone", params)
        self.asked_again_at = 0.0

    add = _either("add")
    get = _either("get")
    set = _either("set")
    incr = _either("incr")
    delete = _either("delete")

    def clear(self) -> None:
        self.alone.clear()
        with suppress(*_DOWN):
            super().clear()
