"""Writes past every service, as a mistake in code or a hand in the database would make them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction

MOVE = "does not go from"


@contextmanager
def refused(words: str) -> Iterator[None]:
    """The database refuses what is written inside, in these words."""
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        yield


def write(row: models.Model, **columns: Any) -> None:
    """UPDATE one row."""
    assert type(row)._base_manager.filter(pk=row.pk).update(**columns) == 1


def delete(row: models.Model) -> None:
    """DELETE one row, without Django's own look at what points to it."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {row._meta.db_table} WHERE id = %s", [row.pk])


def changes_let_through(row: models.Model, changes: dict[str, Any], words: str) -> set[str]:
    """The columns that may be given these values one by one, without a refusal in `words`."""
    return {name for name, value in changes.items() if not _is_refused(row, {name: value}, words)}


def moves_let_through(row: models.Model, field: str, states: Iterable[str]) -> set[str]:
    """The states that `row` may go on to as far as its table of moves is concerned.

    A move that only lacks what belongs to it, as a date, is one of the table all the same.
    """
    before = str(getattr(row, field))
    others = (state for state in states if state != before)
    return {str(state) for state in others if not _is_refused(row, {field: state}, MOVE)}


def _is_refused(row: models.Model, columns: dict[str, Any], words: str) -> bool:
    try:
        with transaction.atomic():
            write(row, **columns)
            transaction.set_rollback(True)
    except IntegrityError as refusal:
        return words in str(refusal)
    return False
