"""A run has one attempt at a time, and only that attempt may speak for it."""

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from benchmarks.models import Benchmark, Run, Solution
from benchmarks.queries import queue_position
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import leases, runs
from tests.benchmarks.conftest import lose_the_worker, raises_code


def test_a_request_made_twice_is_one_run(benchmark_row: Benchmark, solution: Solution) -> None:
    key = uuid.uuid4()
    first = runs.request(benchmark=benchmark_row, solution=solution, request_key=key)
    again = runs.request(benchmark=benchmark_row, solution=solution, request_key=key)

    assert first == again
    assert Run.objects.count() == 1


def test_a_request_key_is_not_taken_for_another_solution(
    benchmark_row: Benchmark, solution: Solution
) -> None:
    other = Solution.objects.create(
        name="other", operator=solution.operator, filename="o.py", source="", digest="sha256:0"
    )
    key = uuid.uuid4()
    runs.request(benchmark=benchmark_row, solution=solution, request_key=key)

    with raises_code("run.request_key_reused"):
        runs.request(benchmark=benchmark_row, solution=other, request_key=key)


def test_a_solution_of_another_operator_is_refused(benchmark_row: Benchmark, db: None) -> None:
    other = Solution.objects.create(
        name="other", operator="softmax", filename="o.py", source="", digest="sha256:0"
    )

    with raises_code("run.other_operator"):
        runs.request(benchmark=benchmark_row, solution=other, request_key=uuid.uuid4())


def test_a_claim_raises_the_attempt_and_takes_a_lease(run: Run) -> None:
    claimed = runs.claim(run_id=run.pk, worker="here:1")

    assert claimed is not None
    assert (claimed.state, claimed.attempt, claimed.worker) == ("running", 1, "here:1")
    assert claimed.leased_until is not None
    assert claimed.started_at is not None


def test_a_claimed_run_is_not_claimed_again(claimed: Run) -> None:
    assert runs.claim(run_id=claimed.pk, worker="there:2") is None


def test_a_lost_lease_is_claimed_as_the_next_attempt(claimed: Run) -> None:
    lose_the_worker(claimed)
    taken = runs.claim(run_id=claimed.pk, worker="there:2")

    assert taken is not None
    assert taken.attempt == 2
    assert taken.started_at == claimed.started_at


def test_claims_end_with_the_last_attempt(claimed: Run) -> None:
    for _ in range(2):
        lose_the_worker(claimed)
        assert runs.claim(run_id=claimed.pk, worker="there:2") is not None
    lose_the_worker(claimed)

    assert runs.claim(run_id=claimed.pk, worker="there:2") is None


@pytest.mark.django_db(transaction=True)
def test_of_eight_workers_at_once_one_gets_the_run(run: Run) -> None:
    barrier = threading.Barrier(8)

    won = at_once(8, lambda number: (barrier.wait(), runs.claim(run_id=run.pk, worker=str(number))))

    winners = [claimed for _, claimed in won if claimed is not None]
    run.refresh_from_db()
    assert len(winners) == 1
    assert run.attempt == 1
    assert run.worker == winners[0].worker


def test_a_heartbeat_extends_the_lease_of_the_current_attempt_only(claimed: Run) -> None:
    lose_the_worker(claimed)
    assert leases.heartbeat(Run, claimed.pk, 1)
    claimed.refresh_from_db()
    assert runs.claim(run_id=claimed.pk, worker="there:2") is None

    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")
    assert not leases.heartbeat(Run, claimed.pk, 1)
    assert leases.heartbeat(Run, claimed.pk, 2)


def test_a_past_attempt_says_nothing_any_more(claimed: Run) -> None:
    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")

    assert not runs.report_progress(run_id=claimed.pk, attempt=1, progress={"phase": "old"})
    assert not runs.fail(run_id=claimed.pk, attempt=1, code=FailureCode.INTERRUPTED, reason="old")
    assert not leases.requeue(Run, claimed.pk, 1)
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt, claimed.progress) == ("running", 2, {})


def test_a_run_given_back_waits_again(claimed: Run) -> None:
    assert leases.requeue(Run, claimed.pk, 1)

    claimed.refresh_from_db()
    assert (claimed.state, claimed.leased_until, claimed.sent_at) == ("queued", None, None)


def test_stopped_workers_use_up_no_attempt(claimed: Run) -> None:
    for attempt in range(1, 6):
        assert leases.requeue(Run, claimed.pk, attempt)
        assert runs.claim(run_id=claimed.pk, worker="there:2") is not None

    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt) == ("running", 6)


def test_the_queue_counts_what_is_measured_first(
    run: Run, benchmark_row: Benchmark, solution: Solution
) -> None:
    second = Run.objects.create(
        benchmark=benchmark_row, solution=solution, request_key=uuid.uuid4()
    )
    assert (queue_position(run), queue_position(second)) == (0, 1)

    runs.claim(run_id=run.pk, worker="here:1")
    run.refresh_from_db()
    assert (queue_position(run), queue_position(second)) == (None, 1)


def at_once(number: int, call: Callable[[int], Any]) -> list[Any]:
    """What each of several threads got, each on a database connection of its own."""
    answers: list[Any] = []

    def one(index: int) -> None:
        try:
            answers.append(call(index))
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(answers) == number
    return answers
