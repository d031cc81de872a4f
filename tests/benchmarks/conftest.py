"""Benchmarks, solutions, runs and one true record for the tests of runs."""

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from kombu import pools

from benchmarks.errors import BenchmarkError
from benchmarks.models import Benchmark, Run, Solution
from benchmarks.records import records
from benchmarks.services import benchmarks, runs, solutions
from consultancy import celery_app
from kernels import catalogue
from tests import referee_key
from tests.engagements.charts.measured import record

OPERATOR = "shared_prefix_attention"
FAKE_REFEREE = Path(__file__).with_name("fake_referee.py")


@pytest.fixture(autouse=True)
def records_folder(settings: Any, tmp_path: Path) -> Path:
    """Records of a test lie in a folder of its own, and so do its device locks."""
    folder = tmp_path / "records"
    storages = {**settings.STORAGES}
    storages["records"] = {**storages["records"], "OPTIONS": {"location": folder, "base_url": None}}
    settings.STORAGES = storages
    return folder


def quick_document() -> dict[str, Any]:
    """The tiny benchmark of the catalogue, measured once, shortly and with little patience."""
    document = catalogue.benchmark_document(OPERATOR, "tiny")
    document["protocol"] |= {"replicates": 1, "max_replicates": 1, "round_limit_s": 8.0}
    # Rounds long enough to be told from empty ones while other tests keep the processors busy.
    document["protocol"] |= {"rounds": 3, "round_ms": 40.0, "max_calls": 4, "held_back_shapes": 1}
    return document


@pytest.fixture
def benchmark_row(db: None) -> Benchmark:
    """The quick benchmark, sealed."""
    return benchmarks.seal(document=quick_document())


@pytest.fixture
def solution(db: None) -> Solution:
    """The catalogue's own torch candidate."""
    return solutions.from_catalogue(operator=OPERATOR, name="torch_cascade")


@pytest.fixture
def run(benchmark_row: Benchmark, solution: Solution) -> Run:
    """A queued run, as a request leaves it before its message went out."""
    return Run.objects.create(benchmark=benchmark_row, solution=solution, request_key=uuid.uuid4())


@pytest.fixture
def claimed(run: Run) -> Run:
    """A run in its first attempt, and the referee's key registered."""
    referee_key.register()
    taken = runs.claim(run_id=run.pk, worker="tester:1")
    assert taken is not None
    return taken


@pytest.fixture
def pretend(settings: Any) -> Callable[..., None]:
    """Replace the harness by a program that misbehaves; more arguments are limits."""

    def instead(behaviour: str, **limits: float) -> None:
        settings.TWOFOLD_HARNESS_COMMAND = pretended(behaviour)
        settings.TWOFOLD_RUN_LIMITS = limits

    return instead


def pretended(behaviour: str) -> list[str]:
    """The command line of a harness that behaves like that."""
    return [sys.executable, str(FAKE_REFEREE), behaviour]


def publish_to(url: str) -> None:
    """Have the application forget its connections and make new ones to `url`."""
    # Celery has no public way to do this in one process, so its types know none.
    application: Any = celery_app
    application.conf.update(broker_url=url, broker_write_url=None, broker_read_url=None)
    pools.reset()
    application._pool = None
    application.amqp._producer_pool = None


@contextmanager
def raises_code(code: str) -> Iterator[None]:
    """Expect a BenchmarkError with this code."""
    with pytest.raises(BenchmarkError) as raised:
        yield
    assert raised.value.code == code


def lose_the_worker(run: Run) -> None:
    """Let the run's lease expire."""
    Run.objects.filter(pk=run.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


@pytest.fixture(scope="session")
def record_bytes() -> bytes:
    """A signed record of the quick benchmark and of `solution`, as if it had been measured."""
    source = catalogue.candidates(OPERATOR)["torch_cascade"].read_text()
    measured = record(speedup=1.4, document=quick_document(), source=source)
    return records.serialize(measured, referee_key.KEY)
