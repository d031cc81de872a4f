"""Cache the rows and files of story functions, as `cached_world` does for a World's stages.

A test registers itself by `running_test`; without that, and wherever the result could differ, the
services run again. Files that a test changed or removed are written again.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import pytest
from django.apps import apps
from django.core import mail
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection, transaction
from django.db.models import FileField
from django.utils import timezone

from engagements.people.models import User
from tests.database_cleanup import seeded_keys
from tests.engagements import cached_world

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
# Content by name.
Files = dict[str, bytes]


@dataclass(frozen=True)
class _Story:
    """Rows, files and returned objects of a story, with the conditions it was created under."""

    day: dt.date
    settings: dict[str, Any]
    seeded: str
    restore: str
    files: Files
    result: Any


@dataclass(frozen=True)
class _Test:
    """The running test."""

    fixtures: list[str]
    patches: pytest.MonkeyPatch


_cache: dict[str, _Story] = {}
_tests: list[_Test] = []


@contextmanager
def running_test(fixtures: list[str], patches: pytest.MonkeyPatch) -> Iterator[None]:
    """Let stories be restored from the cache inside this context."""
    _tests.append(_Test(fixtures, patches))
    yield
    _tests.pop()


def cached_story(
    *shared: object,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Cache the results of a function; `shared` are its constants, which are not copied."""

    def decorate(story: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(story)
        def restored(*nothing: Arguments.args, **changes: Arguments.kwargs) -> Result:
            return _restore_or_create(story, changes, {id(thing): thing for thing in shared})

        return restored

    return decorate


def _restore_or_create(
    story: Callable[..., Result], changes: dict[str, Any], same: Mapping[int, object]
) -> Result:
    plain = all(isinstance(value, cached_world.PLAIN) for value in changes.values())
    if not plain or not _may_restore():
        return story(**changes)
    key = f"{story.__module__}.{story.__qualname__} {sorted(changes.items())}"
    day, settings, seeded = (
        timezone.localdate(),
        cached_world._settings(),
        seeded_keys(),
    )
    have = _cache.get(key)
    if have and (have.day, have.seeded) == (day, seeded) and have.settings == settings:
        _restore(have)
        result: Result = deepcopy(have.result, dict(same))
        return result
    before, sent = cached_world._rows(), len(mail.outbox)
    fresh = story(**changes)
    rows = cached_world._rows()
    # A story that changed earlier rows or sent mail is more than its own rows.
    if not (before.keys() - rows.keys() or seeded_keys() != seeded) and sent == len(mail.outbox):
        new = {row: None for row in rows if row not in before}
        _cache[key] = _Story(
            day=day,
            settings=settings,
            seeded=seeded,
            restore=cached_world._statements(new),
            files=_files(),
            result=deepcopy(fresh, dict(same)),
        )
    return fresh


def _may_restore() -> bool:
    """Whether restored rows make no difference to the running test."""
    # Queries are counted or inspected.
    watched = connection.execute_wrappers or connection.force_debug_cursor
    if not _tests or watched:
        return False
    test = _tests[-1]
    if connection.in_atomic_block:
        return cached_world.usable(test.fixtures, test.patches)
    return not (cached_world.is_changing(test.fixtures, test.patches) or User.objects.exists())


def _restore(story: _Story) -> None:
    with transaction.atomic():
        cached_world._execute(story.restore)
    place = storages["records"]
    for name, content in story.files.items():
        if not place.exists(name) or _read(name) != content:
            place.delete(name)
            place.save(name, ContentFile(content))


def _files() -> Files:
    """The files that rows refer to."""
    names = [
        name
        for model in apps.get_models()
        for field in model._meta.fields
        if isinstance(field, FileField)
        for name in model._default_manager.values_list(field.name, flat=True)
        if name
    ]
    return {name: _read(name) for name in names}


def _read(name: str) -> bytes:
    with storages["records"].open(name, "rb") as opened:
        return bytes(opened.read())
