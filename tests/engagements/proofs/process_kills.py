"""Run operations in child processes that are killed at a chosen point."""

from __future__ import annotations

import os
import re
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from django.apps import apps
from django.db import connection, transaction

from tests.engagements.world import undone

WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)", re.IGNORECASE)
Act = Callable[[], Any]


def killed() -> NoReturn:
    """As a power cut would: no `finally`, no farewell to the server."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def in_a_child(act: Act) -> int:
    """Run `act` in a process of its own: 0 when it ended, else the signal that ended it."""
    child = os.fork()
    if child == 0:
        # A connection belongs to one process. To close it here would end it there, too.
        _kept, connection.connection = connection.connection, None
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not (os.WIFEXITED(status) and os.WEXITSTATUS(status)), "the operation itself failed"
    return os.WTERMSIG(status)


def killed_after_write(number: int, act: Act) -> int:
    """Run `act` and kill it after its write of this `number`, from 1."""

    def run() -> None:
        with counted_writes(lambda count: killed() if count == number else None):
            act()

    return in_a_child(run)


def killed_after_commit(act: Act) -> int:
    """Run `act` and kill it once the server has committed, before anything else is done."""

    def run() -> None:
        with transaction.atomic():
            transaction.on_commit(killed)
            act()

    return in_a_child(run)


@contextmanager
def counted_writes(seen: Callable[[int], None]) -> Iterator[None]:
    """Tell `seen` after each write how many there were."""
    count = 0

    def wrapper(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        nonlocal count
        answer = execute(sql, params, many, context)
        if WRITES.match(str(sql)):
            count += 1
            seen(count)
        return answer

    with connection.execute_wrapper(wrapper):
        yield


def rehearsed(act: Act) -> tuple[int, dict[str, int]]:
    """Run `act` and roll it back: its number of writes, and the rows it adds by table."""
    writes = 0

    def note(count: int) -> None:
        nonlocal writes
        writes = count

    before = row_counts()
    with undone(), counted_writes(note):
        act()
        added = {name: count - before[name] for name, count in row_counts().items()}
    return writes, added


def row_counts() -> dict[str, int]:
    """The number of rows of every table of the application."""
    return _of_every_table("count(*)")


def contents() -> dict[str, str]:
    """What every table of the application says, as a digest."""
    return _of_every_table("coalesce(md5(string_agg(row::text, ',' ORDER BY row::text)), '')")


def _of_every_table(figure: str) -> dict[str, Any]:
    query = " UNION ALL ".join(f"SELECT '{name}', {figure} FROM {name} row" for name in _tables())
    with connection.cursor() as cursor:
        cursor.execute(query)
        return dict(cursor.fetchall())


def _tables() -> list[str]:
    labels = ("engagements", "benchmarks")
    return [
        model._meta.db_table
        for label in labels
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model._meta.managed
    ]
