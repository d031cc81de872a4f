"""Stories of functions, told once in a process as those of `kept.py` are, with their files.

A test says who it is by `told_to`; to whoever does not, and wherever a test could tell, the
services tell the story anew. What a story left in storage is looked at each time, and written
back where a test changed or removed it.
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
from tests.engagements import kept

Asked = ParamSpec("Asked")
Told = TypeVar("Told")
# The name that a file lies under, and its bytes.
Files = dict[str, bytes]


@dataclass(frozen=True)
class _Story:
    """What a story left in the database, in storage and in memory, and when it was told."""

    day: dt.date
    settings: object
    accounts: str
    put_back: str
    files: Files
    told: Any


@dataclass(frozen=True)
class _Listener:
    """The test that is running."""

    fixtures: list[str]
    patches: pytest.MonkeyPatch


_shelf: dict[str, _Story] = {}
_listeners: list[_Listener] = []


@contextmanager
def told_to(fixtures: list[str], patches: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever asks for a story inside may get what is kept."""
    _listeners.append(_Listener(fixtures, patches))
    yield
    _listeners.pop()


def once(*shared: object) -> Callable[[Callable[Asked, Told]], Callable[Asked, Told]]:
    """Keep what this tells; `shared` is what it speaks of and nobody changes."""

    def keeping(story: Callable[Asked, Told]) -> Callable[Asked, Told]:
        @functools.wraps(story)
        def tell(*nothing: Asked.args, **changes: Asked.kwargs) -> Told:
            return _tell(story, changes, {id(thing): thing for thing in shared})

        return tell

    return keeping


def _tell(story: Callable[..., Told], changes: dict[str, Any], same: Mapping[int, object]) -> Told:
    plain = all(isinstance(value, kept.PLAIN) for value in changes.values())
    if not plain or not _unnoticed():
        return story(**changes)
    key = f"{story.__qualname__} {sorted(changes.items())}"
    day, settings, accounts = timezone.localdate(), kept._settings(), kept._accounts()
    have = _shelf.get(key)
    if have and (have.day, have.accounts) == (day, accounts) and have.settings is settings:
        _put_back(have)
        told: Told = deepcopy(have.told, dict(same))
        return told
    before, sent = kept._rows(), len(mail.outbox)
    fresh = story(**changes)
    rows = kept._rows()
    # What changed something that was there before, or sent mail, is more than its rows.
    if not (before.keys() - rows.keys() or kept._accounts() != accounts) and sent == len(
        mail.outbox
    ):
        new = {row: None for row in rows if row not in before}
        _shelf[key] = _Story(
            day=day,
            settings=settings,
            accounts=accounts,
            put_back=kept._statements(new),
            files=_files(),
            told=deepcopy(fresh, dict(same)),
        )
    return fresh


def _unnoticed() -> bool:
    """Whether the test that is running cannot tell what is put back from what is told."""
    # Somebody counts the queries, or looks at them.
    watched = connection.execute_wrappers or connection.force_debug_cursor
    if not _listeners or watched:
        return False
    listener = _listeners[-1]
    if connection.in_atomic_block:
        return kept.usable(listener.fixtures, listener.patches)
    return not (kept.is_changing(listener.fixtures, listener.patches) or User.objects.exists())


def _put_back(story: _Story) -> None:
    with transaction.atomic():
        kept._execute(story.put_back)
    place = storages["records"]
    for name, content in story.files.items():
        if not place.exists(name) or _read(name) != content:
            place.delete(name)
            place.save(name, ContentFile(content))


def _files() -> Files:
    """The files that rows speak of."""
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
