"""What all web processes count together: attempts to sign in, codes that were used, pitches asked.

It is kept beside the broker. Nothing rests on it: it may forget, and while it does not answer
each process counts for itself.
"""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

_DOWN = (RedisError, OSError)


class SharedCache(RedisCache):
    """Django's cache in Redis, with one of this process for as long as that is away."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._alone = LocMemCache("alone", params)

    def add(self, *args: Any, **kwargs: Any) -> bool:
        try:
            return super().add(*args, **kwargs)
        except _DOWN:
            return self._alone.add(*args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().get(*args, **kwargs)
        except _DOWN:
            return self._alone.get(*args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().set(*args, **kwargs)
        except _DOWN:
            self._alone.set(*args, **kwargs)

    def incr(self, *args: Any, **kwargs: Any) -> int:
        try:
            return super().incr(*args, **kwargs)
        except _DOWN:
            return self._alone.incr(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        try:
            return super().delete(*args, **kwargs)
        except _DOWN:
            return self._alone.delete(*args, **kwargs)

    def clear(self) -> None:
        self._alone.clear()
        try:
            super().clear()
        except _DOWN:
            return
