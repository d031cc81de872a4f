"""The settings of the site under test: short leases, a referee that waits, a fast beat."""

import os
from pathlib import Path

from celery.schedules import schedule

from consultancy.settings import CELERY_BEAT_SCHEDULE
from tests.benchmarks.worker_settings import *  # noqa: F403 - settings are a namespace
from tests.consultancy.faults import clocks

for _entry in CELERY_BEAT_SCHEDULE.values():
    _entry["schedule"] = schedule(1.0)
    _entry["options"] = {"expires": 5.0}
if _clock := os.environ.get("TEST_CLOCK"):
    clocks.follow(Path(_clock))
