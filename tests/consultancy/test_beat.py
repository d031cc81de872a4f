"""Beat sends what is due, whatever the clock does."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from celery import Celery
from celery.schedules import schedule

from consultancy.beat import Scheduler

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)


class Sending(Scheduler):
    """Counts the tasks instead of sending them."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.sent: Counter[str] = Counter()
        super().__init__(*given, **named)

    def apply_async(self, entry: Any, *given: Any, **named: Any) -> None:
        self.sent[entry.name] += 1


@pytest.fixture
def beat(tmp_path: Path) -> Sending:
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {
        "often": {"task": "often", "schedule": schedule(10.0)},
        "seldom": {"task": "seldom", "schedule": schedule(30.0)},
    }
    with time_machine.travel(NOW, tick=False):
        made = Sending(app=app, schedule_filename=str(tmp_path / "schedule"), lazy=True)
        made.setup_schedule()
    return made


def run(beat: Sending, start: datetime, seconds: int) -> Counter[str]:
    """What is sent from `start` on, with a tick each second."""
    beat.sent.clear()
    for second in range(seconds):
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            for _ in range(3):
                beat.tick()
    return Counter(beat.sent)


def test_a_clock_set_back_delays_nothing(beat: Sending) -> None:
    ahead = run(beat, NOW + timedelta(hours=1), 61)
    corrected = run(beat, NOW + timedelta(seconds=61), 61)
    assert ahead["often"] >= 6
    assert ahead["seldom"] >= 2
    assert 5 <= corrected["often"] <= 7
    assert 1 <= corrected["seldom"] <= 3
