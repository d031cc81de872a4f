"""A bad candidate, measured by the real harness in a real worker, fails its own run only."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from benchmarks import queries
from benchmarks.models import Benchmark, Run, Solution
from benchmarks.services import runs, solutions
from benchmarks.verdict.verdicts import recompute
from tests.benchmarks.conftest import OPERATOR, publish_to

# Ends its process; tests/exploits has the other ways to fail.
KILLED = """import os, signal

def prepare(state, axes):
    return None

def run(prepared, inputs, out):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_next", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_bad_candidate_fails_with_its_reason_and_the_next_run_is_clean(
    celery_worker_process: Callable[..., Any],
    broker_url: str,
    benchmark_row: Benchmark,
    solution: Solution,
    tmp_path: Path,
    has_next: bool,
) -> None:
    publish_to(broker_url)
    celery_worker_process(
        queues="gpu",
        environment={
            "DJANGO_SETTINGS_MODULE": "tests.benchmarks.worker_settings",
            "TWOFOLD_HOME": str(tmp_path),
        },
    )
    bad = ask(benchmark_row, submitted("killed", KILLED))
    wait_for([bad], limit_s=140)

    assert bad.state == "failed"
    assert "SIGKILL" in bad.failure_reason
    assert bad.failure_code == "candidate_out_of_memory"
    if not has_next:
        return
    honest = ask(benchmark_row, solution)
    wait_for([honest], limit_s=140)
    assert (honest.state, honest.attempt) == ("finished", 1)
    assert honest.record.ratio is not None
    assert recompute(queries.record_of(honest)).verdict == honest.record.verdict
    assert honest.progress["history"]


def submitted(name: str, source: str) -> Solution:
    return solutions.submit(name=name, operator=OPERATOR, filename="kernel.py", source=source)


def ask(benchmark: Benchmark, solution: Solution) -> Run:
    with transaction.atomic():
        return runs.request(benchmark=benchmark, solution=solution, request_key=uuid.uuid4())


def wait_for(waiting: list[Run], *, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not all(run.is_concluded for run in waiting):
        assert time.monotonic() < deadline, [(run.solution.name, run.state) for run in waiting]
        time.sleep(0.2)
        for run in waiting:
            run.refresh_from_db()
