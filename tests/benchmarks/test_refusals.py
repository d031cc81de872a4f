"""What is sealed or measured, the database itself refuses to change."""

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pgtrigger import registered

from benchmarks.models import Benchmark, Record, Run, Solution
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import benchmarks, runs, solutions
from benchmarks.triggers import Trigger
from tests.benchmarks.conftest import OPERATOR, quick_document
from tests.database_constraints import delete, violates, write

pytestmark = pytest.mark.django_db
DIGEST = "sha256:" + "1" * 64


def test_no_session_setting_switches_a_trigger_off(benchmark_row: Benchmark) -> None:
    guard = Benchmark._meta.triggers[0].get_pgid(Benchmark)  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('pgtrigger.ignore', %s, true)", [f"{{{guard}}}"])
    with violates("benchmark.append_only"):
        write(benchmark_row, name="another")


def test_every_trigger_is_of_the_kind_that_no_setting_switches_off() -> None:
    triggers = [trigger for _, trigger in registered()]
    assert triggers
    assert [str(each) for each in triggers if not isinstance(each, Trigger)] == []


@pytest.fixture
def record(claimed: Run) -> Record:
    return Record.objects.create(
        run=claimed,
        attempt=1,
        file="records/11/1.json",
        digest=DIGEST,
        verdict="met",
        ratio=2.4,
        low=2.3,
        high=2.5,
        summary={"verdict": "met"},
        device_name="CPU",
    )


@pytest.mark.parametrize("change", [{"name": "another"}, {"canonical": b"{}"}, {"digest": DIGEST}])
def test_a_sealed_benchmark_is_append_only(
    benchmark_row: Benchmark, change: dict[str, object]
) -> None:
    with violates("benchmark.append_only"):
        write(benchmark_row, **change)
    with violates("benchmark.append_only"):
        delete(benchmark_row)


def test_a_solution_is_append_only(solution: Solution) -> None:
    with violates("solution.append_only"):
        write(solution, source="def run(): ...")
    with violates("solution.append_only"):
        delete(solution)


@pytest.mark.parametrize("change", [{"verdict": "missed"}, {"ratio": 9.9}, {"file": "other.json"}])
def test_a_record_is_append_only(record: Record, change: dict[str, object]) -> None:
    with violates("record.append_only"):
        write(record, **change)
    with violates("record.append_only"):
        delete(record)


@pytest.mark.parametrize("column", ["benchmark", "solution", "request_key"])
def test_a_run_keeps_what_it_measures(run: Run, column: str) -> None:
    others = {
        "benchmark": lambda: benchmarks.seal(document=quick_document() | {"name": "another"}),
        "solution": lambda: solutions.submit(
            name="another", operator=OPERATOR, filename="another.py", source="def run(): ...\n"
        ),
        "request_key": uuid.uuid4,
    }
    other = others[column]()
    with violates("run.identity"):
        write(run, **{column: other})


def test_the_attempts_of_a_run_only_rise(claimed: Run) -> None:
    with violates("run.attempt"):
        write(claimed, attempt=0)
    write(claimed, attempt=2)


@pytest.mark.parametrize("end", ["failed", "finished"])
def test_a_concluded_run_is_never_changed(claimed: Run, end: str) -> None:
    if end == "failed":
        runs.fail(
            run_id=claimed.pk,
            attempt=1,
            code=FailureCode.INTERRUPTED,
            reason="The device was lost.",
        )
    else:
        write(claimed, state="finished", leased_until=None, finished_at=timezone.now())
    again = {"state": "queued", "finished_at": None, "leased_until": None}
    for change in (again, {"failure_reason": "Another."}, {"progress": {"ratio": 9}}):
        with violates("run.concluded"):
            write(claimed, **change)


def test_no_run_is_deleted_open_or_concluded(run: Run) -> None:
    with violates("run.deletion"):
        delete(run)
    taken = runs.claim(run_id=run.pk, worker="tester:1")
    assert taken is not None
    write(taken, leased_until=timezone.now() + timedelta(minutes=1))
    runs.fail(run_id=run.pk, attempt=1, code=FailureCode.INTERRUPTED, reason="The device was lost.")
    with violates("run.deletion"):
        delete(run)
