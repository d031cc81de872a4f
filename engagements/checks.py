"""What `migrate` looks at before it begins."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

HINT = (
    "Migrate it with commit 2f54c3d, the last that has 0001_initial to 0031_invoice_balances, "
    "and then with this one."
)


@register(Tags.database)
def no_database_is_half_way(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Migrations that stand for older ones do so where all of those were applied, or none.

    Of a database with some of them Django says that the migrations have conflicting ends, and
    asks to merge them.
    """
    return [
        Error(
            f"The database stands at engagements.{newest}, and the migrations that lead on from "
            "there are no longer here.",
            hint=HINT,
            id="engagements.E001",
        )
        for alias in databases or ()
        if (newest := _half_way(alias))
    ]


def _half_way(alias: str) -> str | None:
    """The newest migration of those that were applied in part."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    stands_for = [
        set(migration.replaces)
        for (app, _), migration in loader.disk_migrations.items()
        if app == "engagements"
    ]
    applied = set(MigrationRecorder(connections[alias]).applied_migrations())
    if all(older <= applied or not older & applied for older in stands_for):
        return None
    return max(name for _, name in set().union(*stands_for) & applied)
