"""Writes that bypass the services, for tests of constraints and triggers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection, models, transaction


@contextmanager
def violates(code: str) -> Iterator[None]:
    """Expect the database to refuse a write by this trigger or constraint."""
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        yield
    assert code_of(caught.value) == code


def code_of(error: IntegrityError) -> str | None:
    """The trigger or constraint that refused a write, as in "audit.delivered"."""
    cause = error.__cause__
    assert isinstance(cause, psycopg.Error)
    return cause.diag.constraint_name


def write(row: models.Model, **columns: Any) -> None:
    """UPDATE one row."""
    assert type(row)._base_manager.filter(pk=row.pk).update(**columns) == 1


def delete(row: models.Model) -> None:
    """DELETE one row, without Django's collector."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {row._meta.db_table} WHERE id = %s", [row.pk])


def accepted_columns(row: models.Model, changes: dict[str, Any], code: str) -> set[str]:
    """The columns that accept their new value, each tried alone, without violating `code`."""
    return {name for name, value in changes.items() if not _is_violated(row, {name: value}, code)}


def accepted_transitions(row: models.Model, field: str, states: Iterable[str]) -> set[str]:
    """The states that the state machine of `field` allows `row` to reach.

    A transition that another constraint refuses, such as for a missing date, counts as allowed.
    """
    before, code = str(getattr(row, field)), f"{row._meta.model_name}.{field}_move"
    others = (state for state in states if state != before)
    return {str(state) for state in others if not _is_violated(row, {field: state}, code)}


def _is_violated(row: models.Model, columns: dict[str, Any], code: str) -> bool:
    try:
        with transaction.atomic():
            write(row, **columns)
            transaction.set_rollback(True)
    except IntegrityError as refusal:
        return code_of(refusal) == code
    return False
