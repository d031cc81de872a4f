"""Run services at once, each on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from engagements.common.errors import ApplicationError


def run_concurrently(*acts: Callable[[], Any]) -> list[Any]:
    """Run `acts` at once and return their results; an ApplicationError is a result."""
    start = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            start.wait(timeout=10)
            return act()
        except ApplicationError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def errors_in(results: list[Any]) -> list[ApplicationError]:
    """Return the results that are errors."""
    return [result for result in results if isinstance(result, ApplicationError)]
