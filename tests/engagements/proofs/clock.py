"""A clock that proofs can advance."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from django.apps import apps
from django.utils import timezone


class Clock:
    """What the application believes the time to be."""

    def __init__(self) -> None:
        self.now = dt.datetime.combine(timezone.now().date(), dt.time(12), tzinfo=dt.UTC)

    def read(self) -> dt.datetime:
        """In place of `timezone.now`."""
        return self.now

    def pass_days(self, days: int) -> None:
        """Nothing happens for `days`."""
        self.now += dt.timedelta(days=days)


@contextmanager
def turned(clock: Clock) -> Iterator[None]:
    """The application reads `clock`, columns that are dated by default as well."""
    real = timezone.now
    dated = [
        field
        for model in apps.get_models()
        for field in model._meta.fields
        if field.default is real
    ]
    with mock.patch.object(timezone, "now", clock.read):
        for field in dated:
            field.default = clock.read
            # Read from `default` once, and kept.
            field.__dict__.pop("_get_default", None)
        try:
            yield
        finally:
            for field in dated:
                field.default = real
                field.__dict__.pop("_get_default", None)
