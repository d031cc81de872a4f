"""The sweep makes good what was lost, and one trouble holds up nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from benchmarks.signals import run_concluded
from engagements import documents, tasks
from engagements.common import queue
from engagements.engagement.models import Engagement, Stage
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from tests.engagements.world import World, fresh, measured


def test_a_verdict_whose_message_got_lost_is_concluded_by_the_sweep(
    world: World, sweep: Callable[[], None]
) -> None:
    contract = world.active()
    measured(world.request(contract), "met")
    sweep()
    sweep()
    assert fresh(contract.engagement).stage == Stage.MET
    assert contract.engagement.events.filter(verb="run.concluded").count() == 1


def test_a_run_that_is_still_going_on_is_left_alone(
    world: World, sweep: Callable[[], None]
) -> None:
    asked = world.request(world.active())
    sweep()
    asked.refresh_from_db()
    assert asked.concluded_at is None


def test_missing_documents_are_issued_and_one_that_fails_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = [("contract", "contract:1"), ("contract", "contract:2")]
    issued = []

    def issue(*, kind: str, subject: str) -> None:
        if subject == "contract:1":
            raise OSError("no fonts")
        issued.append(subject)

    monkeypatch.setattr(documents, "missing", lambda: wanted)
    monkeypatch.setattr(documents, "issue", issue)
    tasks.sweep()
    assert issued == ["contract:2"]
    assert "no fonts" in caplog.text


def test_one_engagement_in_trouble_holds_up_no_other(
    world: World,
    sweep: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    contracts = [world.active(), world.active()]
    asked = [measured(world.request(contract), "met") for contract in contracts]
    conclude = runs.conclude
    troubled = min(row.pk for row in asked)

    def trouble(*, run: EngagementRun) -> object:
        if run.pk == troubled:
            raise RuntimeError("disk full")
        return conclude(run=run)

    monkeypatch.setattr(runs, "conclude", trouble)
    sweep()
    assert "disk full" in caplog.text
    stages = Engagement.objects.order_by("pk").values_list("stage", flat=True)
    assert sorted(stages) == [Stage.ACTIVE, Stage.MET]


@pytest.mark.parametrize("module", [tasks.warnings, tasks.offers, tasks.contract_mails])
def test_a_step_that_cannot_list_its_rows_stops_no_later_step(
    world: World,
    sweep: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: object,
) -> None:
    def broken() -> object:
        raise RuntimeError("relation does not exist")

    name = next(each for each in ("due", "expiring", "unsent") if hasattr(module, each))
    monkeypatch.setattr(module, name, broken)
    sent: list[int] = []
    monkeypatch.setattr(tasks.password_mails, "waiting", lambda: [7])
    monkeypatch.setattr(
        tasks.password_mails, "send", lambda password_mail_id: sent.append(password_mail_id)
    )
    sweep()
    assert "relation does not exist" in caplog.text
    assert sent == [7]


def test_an_issued_document_is_mailed(monkeypatch: pytest.MonkeyPatch) -> None:
    mailed: list[object] = []
    monkeypatch.setattr(documents, "issue", lambda **wanted: wanted)
    for mails in (tasks.contract_mails, tasks.invoice_mails):
        monkeypatch.setattr(mails, "write", lambda document: mailed.append(document))
    tasks.issue_document("contract", "contract:7")
    assert mailed == [{"kind": "contract", "subject": "contract:7"}] * 2


def test_a_concluded_run_is_handed_to_a_worker_once_it_is_committed(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[list[object]]],
) -> None:
    asked = measured(world.request(world.active()), "met")
    sent: list[tuple[str, object]] = []
    monkeypatch.setattr(queue, "send", lambda *message: sent.append(message))
    with django_capture_on_commit_callbacks(execute=True):
        run_concluded.send(sender=type(asked.run), run=asked.run)
        assert sent == []
    assert ("conclude_run", asked.run_id) in sent


def test_a_dead_broker_costs_a_verdict_nothing(
    world: World,
    sweep: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[list[object]]],
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("connection refused")

    contract = world.active()
    asked = measured(world.request(contract), "missed")
    monkeypatch.setattr(queue.current_app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        run_concluded.send(sender=type(asked.run), run=asked.run)
        sweep()
    assert fresh(contract.engagement).stage == Stage.MISSED
