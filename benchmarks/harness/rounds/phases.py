"""Where the time of a run goes: seconds by phase, each second in one phase. No torch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

# What no phase claims.
REST = "rest"


class Phases:
    """A stopwatch with one hand: entering a phase stops the one around it.

    Inside a `whole` phase no other starts: a control's own start-up is part of the control.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._now = REST
        self._since = time.monotonic()
        self._held = False

    @contextlib.contextmanager
    def of(self, name: str, *, whole: bool = False) -> Iterator[None]:
        """Count the time inside as `name`."""
        if self._held:
            yield
            return
        before = self._turn_to(name)
        self._held = whole
        try:
            yield
        finally:
            self._held = False
            self._turn_to(before)

    def _turn_to(self, name: str) -> str:
        now = time.monotonic()
        before = self._now
        self._seconds[before] = self._seconds.get(before, 0.0) + now - self._since
        self._now, self._since = name, now
        return before

    def seconds(self) -> dict[str, float]:
        """So far, by phase, to the millisecond."""
        self._turn_to(self._now)
        return {name: round(spent, 3) for name, spent in self._seconds.items()}
