"""Celery tasks. A message carries a run's id; the row says what to do.

The sweep recovers lost messages and lost workers. A duplicate message finds its run claimed or
concluded and changes nothing.
"""

import logging
import os
import socket
from dataclasses import asdict
from typing import Any

from celery import shared_task

from benchmarks.measuring import stopping, supervisor
from benchmarks.measuring.device import DeviceBusy, device_of, locked
from benchmarks.models import Run
from benchmarks.services import messages, runs, sweeping

logger = logging.getLogger(__name__)


@shared_task(name=messages.TASK, ignore_result=True)
def measure(run_id: int) -> str:
    """Claim and measure a queued run; return its outcome in a word."""
    run = Run.objects.select_related("benchmark").filter(pk=run_id).first()
    if run is None or run.is_concluded:
        return "nothing to do"
    device = device_of(run.benchmark.document["hardware"])
    try:
        # Lock the device before claiming: waiting must not use up a lease or an attempt.
        with locked(device) as lock:
            if stopping.is_requested():
                runs.postpone(run_id=run_id)
                return "worker stopping"
            claimed = runs.claim(run_id=run_id, worker=f"{socket.gethostname()}:{os.getpid()}")
            if claimed is None:
                return "nothing to do"
            outcome = supervisor.measure(claimed, device_lock=lock)
    except DeviceBusy:
        runs.postpone(run_id=run_id)
        return "device busy"
    logger.info("run %s, attempt %s: %s", run_id, claimed.attempt, outcome)
    return outcome


@shared_task(name="benchmarks.tasks.sweep", ignore_result=True)
def sweep() -> dict[str, Any]:
    """Enqueue waiting runs and requeue lost ones; called by beat."""
    return asdict(sweeping.sweep())
