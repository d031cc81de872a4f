"""Every fault that the random test draws from: how to break a part of the site, and mend it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from django.db import connection

from consultancy.embedded.place import Place
from consultancy.embedded.valkey import Valkey
from tests.consultancy.faults.site import Site

PARTS = ("database", "broker", "bucket", "mail", "authority")
WAYS = ("away", "silent", "slow", "full")
HOUR_S = 3600


@dataclass(frozen=True)
class Case:
    """One fault. `mend` ends it; a killed process is started again."""

    part: str
    how: str
    break_: Callable[[Site], object]
    mend: Callable[[Site], object]


def _nothing(_: Site) -> None:
    """A part that recovers by itself."""


def _part(part: str, how: str) -> Case:
    return Case(
        part, how, lambda site: site.parts[part].fail(how), lambda site: site.parts[part].back()
    )


def _process(name: str) -> Case:
    return Case(name, "kill -9", lambda site: site.kill(name), lambda site: site.start(name))


def _child(name: str) -> Case:
    return Case(f"{name}'s child", "kill -9", lambda site: site.kill_child(name), _nothing)


def _kill_backend(_: Site) -> None:
    """Kill a server process of a client: PostgreSQL ends all others, too, and recovers."""
    settings = connection.settings_dict
    url = f"host={settings['HOST']} user={settings['USER']} dbname={settings['NAME']}"
    with psycopg.connect(url, autocommit=True) as other:
        query = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1"
        )
        row = other.execute(query).fetchone()
    # Without a client there is nothing to kill.
    if row is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(row[0], signal.SIGKILL)


def _broker_of(site: Site) -> Valkey:
    return Valkey(Place(site.folder / "broker"))


def _kill_broker(site: Site) -> None:
    for process in _broker_of(site).processes():
        process.kill()


def _clock(name: str, offset_s: int) -> Case:
    def set_to(site: Site, seconds: int) -> None:
        assert site.clock is not None
        unfinished = site.clock.with_suffix(".new")
        unfinished.write_text(str(seconds))
        unfinished.replace(site.clock)

    return Case("clock", name, lambda site: set_to(site, offset_s), lambda site: set_to(site, 0))


CASES = [
    *(_part(part, how) for part in PARTS for how in WAYS),
    *(_process(name) for name in ("web", "gpu", "documents", "beat")),
    *(_child(name) for name in ("web", "gpu", "documents")),
    Case("PostgreSQL", "kill -9", _kill_backend, _nothing),
    Case("Valkey", "kill -9", _kill_broker, lambda site: _broker_of(site).start()),
    _clock("1 h forward", HOUR_S),
    _clock("1 h back", -HOUR_S),
]
