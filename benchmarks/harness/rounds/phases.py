"""Account for a run's time: seconds by phase."""

import contextlib
import time
from collections.abc import Iterator

# Time outside all phases.
REST = "rest"


class Phases:
    """A stopwatch of phases; entering one pauses the phase around it.

    A `whole` phase includes the phases inside it, such as the start-up of a control.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._now = REST
        self._since = time.monotonic()
        self._held = False

    @contextlib.contextmanager
    def of(self, name: str, *, whole: bool = False) -> Iterator[None]:
        """Count the time inside as phase `name`."""
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
        """Seconds by phase so far, to the millisecond."""
        self._turn_to(self._now)
        return {name: round(spent, 3) for name, spent in self._seconds.items()}
