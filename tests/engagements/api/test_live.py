"""A run is followed by server-sent events."""

from __future__ import annotations

import json

import pytest

from benchmarks.models import Run
from benchmarks.services import runs as measuring
from engagements.api import live
from tests.engagements import story as stories
from tests.engagements.api_program import Program
from tests.engagements.world import World, measured

pytestmark = pytest.mark.django_db


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    named = [dict(line.split(": ", 1) for line in block) for block in blocks]
    return [(one["event"], json.loads(one["data"])) for one in named if "event" in one]


def test_a_run_is_followed_to_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = world.request(world.active())
    monkeypatch.setattr(live.time, "sleep", lambda _: measured(asked, "met"))
    answer = Program(world.viewer).get(f"runs/{asked.pk}/events/", Accept="text/event-stream")
    assert answer["Content-Type"] == "text/event-stream"
    sent = events(b"".join(answer.streaming_content).decode())
    assert [(name, row["state"]) for name, row in sent] == [
        ("run", "queued"),
        ("run", "finished"),
        ("end", "finished"),
    ]
    assert sent[1][1]["record"]["verdict"] == "met"  # type: ignore[index]


def test_progress_is_shown_and_the_worker_is_not() -> None:
    story = stories.underway()
    run = stories.running(stories.requested(story))
    progress = {"phase": "measuring", "replicate": 1, "replicates": 4, "message": "gpu-rack-7"}
    measuring.report_progress(run_id=run.pk, attempt=run.attempt, progress=progress)
    (row,) = Program(story.viewer).rows("runs/")
    assert row["progress"]["replicates"] == 4
    assert row["record"] is None
    assert "gpu-rack-7" not in str(row)


def test_streams_are_few_and_short(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = world.request(world.active())
    program, path = Program(world.viewer), f"runs/{asked.pk}/events/"
    monkeypatch.setattr(live, "STREAMS", 1)
    monkeypatch.setattr(live, "STREAM_S", 0.0)
    first = program.get(path)
    busy = program.get(path)
    assert (busy.status_code, busy.json()["code"]) == (429, "throttled")
    assert int(busy["Retry-After"]) > 0
    assert [name for name, _ in events(b"".join(first.streaming_content).decode())] == ["run"]
    assert program.get(path).status_code == 200
    assert Run.objects.get(pk=asked.run_id).state == "queued"
