"""What all web processes count together: attempts to sign in, codes that were used, pitches asked.

It is kept beside the broker. Nothing rests on it: it may forget, and while it does not answer
each process counts for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

_DOWN = (RedisError, OSError)


def _either(name: str) -> Callable[..., Any]:
    """The method of Redis, or that of this process's own cache while it is away."""

    def ask(self: SharedCache, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(RedisCache, name)(self, *args, **kwargs)
        except _DOWN:
            return getattr(self.alone, name)(*args, **kwargs)

    return ask


class SharedCache(RedisCache):
    """Django's cache in Redis, with one of this process for as long as that is away."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.alone = LocMemCache("alone", params)

    add = _either("add")
    get = _either("get")
    set = _either("set")
    incr = _either("incr")
    delete = _either("delete")

    def clear(self) -> None:
        self.alone.clear()
        with suppress(*_DOWN):
            super().clear()
