"""What workers do for benchmarks. Messages carry an id; the row says what is to be done.

Lost messages and lost workers are brought back by the sweep. Messages are acknowledged late,
but nothing rests on the broker delivering one again: a redelivered message finds its run
claimed or concluded and changes nothing.
"""

import logging
import os
import socket
from typing import Any

from celery import shared_task

from benchmarks.measuring import stopping, supervisor
from benchmarks.measuring.device import DeviceBusy, device_of, held
from benchmarks.models import Run
from benchmarks.services import runs, sweeping

logger = logging.getLogger(__name__)


@shared_task(name="benchmarks.tasks.measure", ignore_result=True)
def measure(run_id: int) -> str:
    """Measure a run if it is still to be measured; what came of it, in a word."""
    run = Run.objects.select_related("benchmark").filter(pk=run_id).first()
    if run is None or run.is_concluded:
        return "nothing to do"
    device = device_of(run.benchmark.document["hardware"])
    try:
        # The device first: waiting for it must not use up a lease or an attempt.
        with held(device) as lock:
            if stopping.told_to_stop():
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
    """Send what waits and take back what was lost; called by beat."""
    swept = sweeping.sweep()
    return {"sent": swept.sent, "taken_back": swept.taken_back, "failed": swept.failed}
