"""The scheduler of beat."""

from __future__ import annotations

import math
import time
from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Celery's scheduler, which a clock that is set back does not delay.

    Celery's own waits until the clock shows the times of the last runs again: for an hour after a
    clock that was an hour ahead is corrected, nothing would be swept.
    """

    _ticked_at = math.inf

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Run what is due; return the seconds until the next entry is."""
        now = time.time()
        if now < self._ticked_at:
            for entry in self.schedule.values():
                if entry.last_run_at is not None:
                    entry.last_run_at = min(entry.last_run_at, entry.default_now())
            # Have the order of the entries computed again.
            self._heap = None
        self._ticked_at = now
        wait_s: float = super().tick(*args, **kwargs)
        return wait_s
