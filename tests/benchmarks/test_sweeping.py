"""No open run is left alone: what waits is sent, what was lost is taken back or given up."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from benchmarks.models import Benchmark, Run, Solution
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import messages, runs
from benchmarks.services.sweeping import Swept, sweep
from benchmarks.signals import run_concluded
from tests.benchmarks.conftest import lose_the_worker


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the messages that a broker would have taken."""
    taken: list[int] = []
    monkeypatch.setattr(
        messages.current_app,
        "send_task",
        lambda name, args, **options: taken.append(args[0]),
        raising=False,
    )
    return taken


def test_a_run_whose_message_never_went_out_is_sent(run: Run, sent: list[int]) -> None:
    assert sweep() == Swept(sent=1)
    assert sent == [run.pk]


def test_sweeping_again_sends_nothing_twice(run: Run, sent: list[int]) -> None:
    sweep()

    assert sweep() == Swept()
    assert sent == [run.pk]


def test_an_old_message_is_sent_again(run: Run, sent: list[int]) -> None:
    sweep()
    Run.objects.filter(pk=run.pk).update(sent_at=timezone.now() - timedelta(minutes=5))

    assert sweep() == Swept(sent=1)
    assert sent == [run.pk, run.pk]


def test_with_the_broker_away_one_try_is_made_and_all_stay_queued(
    run: Run, benchmark_row: Benchmark, solution: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run.objects.create(benchmark=benchmark_row, solution=solution, request_key=uuid.uuid4())
    tries: list[Any] = []

    def refuse(name: str, args: Any, **options: Any) -> None:
        tries.append(args)
        raise OperationalError("connection refused")

    monkeypatch.setattr(messages.current_app, "send_task", refuse)

    assert sweep() == Swept()
    assert len(tries) == 1
    assert set(Run.objects.values_list("state", "sent_at")) == {("queued", None)}


def test_a_lost_run_is_queued_and_sent_again(claimed: Run, sent: list[int]) -> None:
    lose_the_worker(claimed)

    assert sweep() == Swept(sent=1, requeued=1)
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt) == ("queued", 1)
    assert sent == [claimed.pk]


def test_a_run_that_is_heard_of_is_left_alone(claimed: Run, sent: list[int]) -> None:
    assert sweep() == Swept()
    assert sent == []


def test_a_run_lost_too_often_fails_with_a_reason_to_act_on(claimed: Run, sent: list[int]) -> None:
    heard: list[Run] = []
    run_concluded.connect(listener := lambda run, **_: heard.append(run))
    for _ in range(2):
        lose_the_worker(claimed)
        runs.claim(run_id=claimed.pk, worker="gpu-7:12")
    lose_the_worker(claimed)

    assert sweep() == Swept(failed=1)
    run_concluded.disconnect(listener)
    claimed.refresh_from_db()
    assert claimed.state == "failed"
    assert "3 attempts" in claimed.failure_reason
    assert "gpu-7:12" in claimed.failure_reason
    assert heard == [claimed]
    assert sent == []


def test_concluded_runs_are_never_swept(claimed: Run, sent: list[int]) -> None:
    runs.fail(
        run_id=claimed.pk, attempt=1, code=FailureCode.INTERRUPTED, reason="The candidate raised."
    )

    assert sweep() == Swept()
