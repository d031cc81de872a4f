"""Two runs on one machine never have a user in common, whatever the moment they choose in."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from benchmarks.harness.failures import SetupError
from benchmarks.harness.sides import user_ids

ROOT = Path(__file__).parents[2]
HOLDER = (
    "from benchmarks.harness.sides import user_ids\n"
    "user_ids._NAME, user_ids._FIRST_USER, user_ids._LAST_USER = {name!r}, {first}, {last}\n"
    "with user_ids.reserved() as first:\n"
    "    print(first, flush=True)\n"
    "    input()\n"
)
# Any two pairs out of three users share one.
FIRST, LAST = 61184, 61186


@pytest.fixture(autouse=True)
def among(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """`among(first, last)`: choose among these, apart from all other tests' runs."""
    monkeypatch.setattr(user_ids, "_NAME", f"twofold.test.{secrets.token_hex(8)}")
    monkeypatch.setattr(user_ids, "_with_processes", set)

    def limited(first: int, last: int) -> None:
        monkeypatch.setattr(user_ids, "_FIRST_USER", first)
        monkeypatch.setattr(user_ids, "_LAST_USER", last)

    limited(FIRST, LAST)
    return limited


@contextmanager
def another_run(first: int = FIRST, last: int = LAST) -> Iterator[tuple[int, Popen[str]]]:
    """A process that has a pair of these users, and none of whose sides runs."""
    program = HOLDER.format(name=user_ids._NAME, first=first, last=last)
    with Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process
        process.kill()


def test_users_of_another_run_are_taken_although_none_of_its_sides_runs() -> None:
    with (
        another_run() as (first, _),
        pytest.raises(SetupError, match="61184 to 61186"),
        user_ids.reserved(),
    ):
        pytest.fail(f"had one of {first} and {first + 1}")


def test_users_of_a_run_that_was_killed_are_free_again() -> None:
    with another_run() as (_, process):
        process.kill()
        process.wait()
        with user_ids.reserved() as first:
            assert first in (FIRST, FIRST + 1)


def test_users_are_free_again_when_the_run_has_ended() -> None:
    with user_ids.reserved(), pytest.raises(SetupError), user_ids.reserved():
        pytest.fail("had a user that was taken")
    with user_ids.reserved():
        pass


def test_a_pair_refused_for_its_second_user_leaves_its_first_free(
    among: Callable[[int, int], None],
) -> None:
    with another_run(FIRST + 1, LAST):
        among(FIRST, FIRST + 1)
        with pytest.raises(SetupError), user_ids.reserved():
            pytest.fail("had a user that was taken")
        among(FIRST - 1, FIRST)
        with user_ids.reserved() as first:
            assert first == FIRST - 1


def test_a_user_whose_processes_run_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another container's runs are seen, and its sockets are not."""
    monkeypatch.setattr(user_ids, "_with_processes", lambda: {FIRST + 1})
    with pytest.raises(SetupError), user_ids.reserved():
        pytest.fail("had a user that was taken")
