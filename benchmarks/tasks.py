"""Celery tasks. A message carries a job's id; the row says what to do.

The sweep recovers lost messages and lost workers. A duplicate message finds its job claimed or
concluded and changes nothing.
"""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings

from benchmarks.limits import limits
from benchmarks.measuring import checking, stopping, supervisor
from benchmarks.measuring.device import DeviceBusy, devices_of, locked
from benchmarks.models import BenchmarkCheck, Run
from benchmarks.records import documents
from benchmarks.services import leases, messages, runs, sweeping
from benchmarks.services.leases import JobType

logger = logging.getLogger(__name__)


@shared_task(name=messages.TASKS[Run], ignore_result=True)
def measure(run_id: int) -> str:
    """Claim and measure a queued run; return its outcome in a word."""
    run = Run.objects.select_related("benchmark").filter(pk=run_id).first()
    if run is None or run.is_concluded:
        return "nothing to do"
    return _on_device(
        run,
        run.benchmark.document,
        claim=lambda worker: runs.claim(run_id=run_id, worker=worker),
        work=supervisor.measure,
    )


@shared_task(name=messages.TASKS[BenchmarkCheck], ignore_result=True)
def check_benchmark(check_id: int) -> str:
    """Claim and check a customer's benchmark; return its outcome in a word."""
    check = BenchmarkCheck.objects.filter(pk=check_id).first()
    if check is None or check.is_concluded:
        return "nothing to do"
    return _on_device(
        check,
        check.benchmark,
        claim=lambda worker: leases.claim(BenchmarkCheck.objects.all(), pk=check_id, worker=worker),
        work=checking.check,
    )


def _on_device(
    job: JobType,
    document: dict[str, Any],
    *,
    claim: Callable[[str], JobType | None],
    work: Callable[..., str],
) -> str:
    """Claim a job once its devices are free, and do it."""
    devices = devices_of(document["hardware"], documents.ranks(document))
    try:
        # Lock the devices before claiming: waiting must not use up a lease or an attempt.
        home, wait_s = Path(settings.TWOFOLD_HOME), limits().device_wait_s
        with locked(*devices, home=home, wait_s=wait_s) as locks:
            if stopping.is_requested():
                leases.postpone(type(job), job.pk)
                return "worker stopping"
            claimed = claim(f"{socket.gethostname()}:{os.getpid()}")
            if claimed is None:
                return "nothing to do"
            outcome = work(claimed, device_locks=locks)
    except DeviceBusy:
        leases.postpone(type(job), job.pk)
        return "device busy"
    logger.info("%s, attempt %s: %s", claimed, claimed.attempt, outcome)
    return outcome


@shared_task(name="benchmarks.tasks.sweep", ignore_result=True)
def sweep() -> dict[str, Any]:
    """Enqueue waiting jobs and requeue lost ones; called by beat."""
    return asdict(sweeping.sweep())
