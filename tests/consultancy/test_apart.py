"""Tests use none of the storage and brokers of the checkout that they run in."""

from pathlib import Path

from django.conf import settings
from django.core.files.storage import storages

from consultancy import celery_app


def test_records_of_tests_are_outside_the_home_folder() -> None:
    home = Path(settings.TWOFOLD_HOME)
    for name in ("default", "records"):
        assert home not in Path(storages[name].path("record.json")).parents


def test_messages_of_tests_reach_no_worker_of_the_checkout() -> None:
    with celery_app.connection_for_write() as connection:
        # In memory, or in this session's own broker.
        assert connection.as_uri() != settings.VALKEY.url
        assert str(settings.TWOFOLD_HOME) not in connection.as_uri()
