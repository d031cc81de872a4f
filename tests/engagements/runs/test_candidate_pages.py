"""A run in progress and its candidate: cancelled, timed, its source read and compared."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.models import Run
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import runs as measuring
from benchmarks.services import solutions
from engagements.common.errors import ApplicationError
from engagements.runs import services as runs
from engagements.runs import sources
from engagements.runs.models import EngagementRun
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db

SOURCE = (
    "def prepare(state, axes):\n    return state\n\n\ndef run(prepared, inputs, out):\n    {}\n"
)
TRACEBACK = 'File "/scratch/candidate.py", line {}, in run\nValueError: no\n'


@pytest.fixture
def story(client: Client) -> Story:
    story = stories.underway()
    client.force_login(story.consultant)
    return story


def _trial(story: Story, body: str) -> EngagementRun:
    """A queued trial of a candidate whose `run` is `body`."""
    solution = solutions.submit(
        name="mine",
        operator=stories.SCENARIO.operator,
        filename="mine.py",
        source=SOURCE.format(body),
    )
    return runs.request(
        engagement=story.engagement,
        solution=solution,
        purpose="trial",
        request_key=uuid4(),
        by=story.consultant,
        commit="4e1243b",
    )


def _failed(asked: EngagementRun, *, reason: str, log: str = "") -> EngagementRun:
    claimed = stories.running(asked)
    code = FailureCode.CANDIDATE_CRASHED
    measuring.fail(run_id=claimed.pk, attempt=claimed.attempt, code=code, reason=reason, log=log)
    return EngagementRun.objects.select_related("run__solution").get(pk=asked.pk)


def test_a_failed_run_shows_its_log_and_the_candidates_own_line(
    client: Client, story: Story
) -> None:
    _failed(_trial(story, "pass"), reason="the candidate raised")
    asked = _failed(
        _trial(story, "raise ValueError('<no>')"),
        reason="the candidate raised ValueError: no",
        log=TRACEBACK.format(2) + TRACEBACK.format(6),
    )
    page = client.get(reverse("run", args=[story.reference, asked.pk]))
    source = page.context["source"]
    assert source.failed_line == 6
    assert [line for kind, line in source.changes[0].lines if kind in "+-"] == [
        "    pass",
        "    raise ValueError('<no>')",
    ]
    text = page.content.decode()
    assert 'id="source-6" data-kind="!"' in text
    assert "ValueError: no" in text
    assert "<no>" not in text
    assert "4e1243b" in text


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("raised ValueError: no (candidate.py line 2 in prepare), while", 2),
        ("candidate.cu(5): error: no such thing", 5),
        ("candidate.py line 900 in run", None),
        ("the device was lost", None),
    ],
)
def test_the_failing_line_is_that_of_the_error(story: Story, reason: str, line: int | None) -> None:
    assert sources.failed_line(_failed(_trial(story, "pass"), reason=reason)) == line


def test_a_run_is_cancelled_once(client: Client, story: Story) -> None:
    asked = _trial(story, "pass")
    stories.running(asked)
    for _ in range(2):
        answer = client.post(reverse("run-cancel", args=[story.reference, asked.pk]))
        assert answer.status_code == 302
    run = Run.objects.get(pk=asked.run_id)
    assert (run.state, run.leased_until) == (Run.State.FAILED, None)
    assert run.cancelled_by == str(story.consultant)
    runs.conclude(run=asked)
    assert not story.engagement.events.filter(verb="run.failed").exists()
    page = client.get(reverse("run", args=[story.reference, asked.pk]))
    assert page.context["state"] == "cancelled"
    assert story.engagement.events.filter(verb="run.cancelled").count() == 1
    assert not measuring.report_progress(run_id=run.pk, attempt=1, progress={})


def test_an_acceptance_run_is_cancelled_only_before_it_starts(client: Client, story: Story) -> None:
    asked = stories.requested(story)
    stories.running(asked)
    with pytest.raises(ApplicationError) as raised:
        runs.cancel(run=asked, by=story.consultant)
    assert raised.value.code == "run.acceptance_running"
    page = client.get(reverse("run", args=[story.reference, asked.pk]))
    assert not page.context["may_cancel"]
    client.force_login(story.signatory)
    url = reverse("run-cancel", args=[story.reference, asked.pk])
    assert client.post(url).status_code in (403, 404)


def test_the_time_that_a_run_usually_takes_comes_from_former_runs(
    client: Client, story: Story
) -> None:
    first = _trial(story, "pass")
    assert (
        client.get(reverse("run", args=[story.reference, first.pk])).context["live"].usual_s is None
    )
    stories.finished(first, 2.6)
    queued = _trial(story, "pass")
    live = client.get(reverse("run", args=[story.reference, queued.pk])).context["live"]
    assert live.usual_s is not None
    assert live.elapsed_s is None
    stories.running(queued)
    live = client.get(reverse("run", args=[story.reference, queued.pk])).context["live"]
    assert live.elapsed_s >= 0


def test_a_commit_is_hexadecimal(story: Story) -> None:
    with pytest.raises(ApplicationError):
        runs.request(
            engagement=story.engagement,
            solution=_trial(story, "pass").run.solution,
            purpose="trial",
            request_key=uuid4(),
            by=story.consultant,
            commit="not a commit",
        )
