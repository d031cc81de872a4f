"""Bad candidates, measured by the real harness in a real worker: each costs its own run only."""

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

PREPARE = "def prepare(state, axes):\n    return None\n\n"
BAD = {
    "raises": PREPARE + "def run(prepared, inputs, out):\n    raise ValueError('seven heads')\n",
    # Not in its first call: that one still belongs to the setup, which may take long.
    "hangs": "import time\n\ncalls = []\n\n"
    + PREPARE
    + "def run(prepared, inputs, out):\n"
    + "    calls.append(1)\n    while len(calls) > 1:\n        time.sleep(1)\n",
    "is killed for memory": "import os, signal\n\n"
    + PREPARE
    + "def run(prepared, inputs, out):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "prints rubbish": "import os\n\n"
    + PREPARE
    + "def run(prepared, inputs, out):\n"
    + "    for number in range(1, 64):\n"
    + "        try:\n            os.write(number, b'\\xff' * 4096)\n"
    + "        except OSError:\n            continue\n",
}
REASONS = {
    "raises": "ValueError: seven heads",
    "hangs": "did not answer within 8 s",
    "is killed for memory": "memory",
    "prints rubbish": "invalid data",
}


@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
def test_bad_candidates_fail_with_reasons_and_the_next_run_is_clean(
    celery_worker_process: Callable[..., Any],
    broker_url: str,
    benchmark_row: Benchmark,
    solution: Solution,
    tmp_path: Path,
) -> None:
    publish_to(broker_url)
    celery_worker_process(
        queues="gpu",
        environment={
            "DJANGO_SETTINGS_MODULE": "tests.benchmarks.worker_settings",
            "TWOFOLD_HOME": str(tmp_path),
        },
    )
    bad = {name: ask(benchmark_row, submitted(name, source)) for name, source in BAD.items()}
    honest = ask(benchmark_row, solution)
    wait_for([*bad.values(), honest], limit_s=280)

    for name, reason in REASONS.items():
        assert bad[name].state == "failed", name
        assert reason in bad[name].failure_reason, name
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
