"""What a runner does when the site declines, without a site."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks.client import SiteError
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.runner.loop import Runner
from benchmarks.runner.site import Attempt, RunnerSite
from benchmarks.runner.state import State, StateInUse

ENDED = SiteError("It has ended.", code="run.stale_attempt", status=410)


class Declining(RunnerSite):
    """A site with prepared answers, which notes the requests."""

    def __init__(self, **answers: bytes | SiteError) -> None:
        super().__init__("http://localhost", "twofold_token")
        self.answers = answers
        self.asked: list[str] = []

    def exchange(self, method: str, path: str, **_: Any) -> bytes:
        name = path.rstrip("/").rpartition("/")[2]
        self.asked.append(name)
        answer = self.answers.get(name, b"")
        if isinstance(answer, SiteError):
            raise answer
        return answer


def runner(folder: Path, **answers: bytes | SiteError) -> tuple[Runner, Declining]:
    site = Declining(**answers)
    return Runner(site, State(folder), threading.Event()), site


def attempt(**changes: Any) -> Attempt:
    given = {
        "id": 1,
        "run": 2,
        "attempt": 1,
        "nonces": {"site": "ab" * 32, "customer": None},
        "benchmark": {"digest": digest_of_bytes(b"{}"), "filename": "benchmark.json"},
        "candidate": {"digest": digest_of_bytes(b"mine"), "filename": "mine.py"},
        "required_isolation": [],
        "limits": {},
    }
    return Attempt(given | changes)


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"candidate": ENDED}, ["candidate"]),
        ({"candidate": b"other"}, ["candidate", "failure"]),
        ({"candidate": b"mine", "benchmark": b"[]"}, ["candidate", "benchmark", "failure"]),
        ({"candidate": b"mine", "benchmark": b"{}"}, ["candidate", "benchmark", "failure"]),
    ],
    ids=["ended", "another candidate", "another benchmark", "no benchmark"],
)
def test_code_that_the_site_did_not_name_is_never_run(
    tmp_path: Path, answers: dict[str, Any], asked: list[str]
) -> None:
    started, site = runner(tmp_path, **answers)
    started.measure(attempt())
    assert site.asked == asked
    assert started.state.kept() is None


def test_a_candidate_stays_in_its_folder(tmp_path: Path) -> None:
    candidate = {"digest": digest_of_bytes(b"mine"), "filename": "../mine.py"}
    started, site = runner(tmp_path, candidate=b"mine", benchmark=b"{}")
    started.measure(attempt(candidate=candidate))
    assert site.asked[-1] == "failure"


def test_a_refused_record_is_set_aside_and_one_of_a_lost_token_is_kept(tmp_path: Path) -> None:
    started, site = runner(tmp_path, record=SiteError("No.", code="token", status=401))
    started.state.begin(7)
    started.state.keep(b"measured")
    with pytest.raises(SiteError):
        started.settle()
    kept = started.state.kept()
    assert kept is not None
    assert (kept.attempt, kept.record) == (7, b"measured")
    site.answers["record"] = SiteError("No.", code="record.used_nonce", status=422)
    started.settle()
    assert started.state.kept() is None
    assert (tmp_path / "refused-7.json").read_bytes() == b"measured"


def test_an_attempt_of_another_runner_is_forgotten(tmp_path: Path) -> None:
    started, site = runner(tmp_path, release=SiteError("No.", code="not_found", status=404))
    started.state.begin(7)
    started.settle()
    assert (site.asked, started.state.kept()) == (["release"], None)


def test_two_runners_do_not_share_a_folder(tmp_path: Path) -> None:
    first = State(tmp_path)
    with pytest.raises(StateInUse):
        State(first.folder)
