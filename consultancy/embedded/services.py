"""The embedded services that this configuration uses, started and stopped together."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

import kombu.pools
from django.conf import settings
from django.db import connections


class Service(Protocol):
    """What PostgreSQL and Valkey have in common here."""

    def ready(self) -> bool:
        """Whether the server answers."""

    def start(self) -> bool:
        """Have it running; True when this call started it."""

    def stop(self) -> bool:
        """Stop it; False when there was none."""

    def stop_if_unused(self) -> bool:
        """Stop it unless another process uses it."""


def services() -> dict[str, Service]:
    """The services that nobody else provides, by name: an address given, none embedded."""
    found: dict[str, Service] = {}
    if settings.DATABASES["default"]["ENGINE"] == "consultancy.embedded.backend":
        found["postgres"] = settings.POSTGRES
    if settings.BROKER_IS_EMBEDDED:
        found["valkey"] = settings.VALKEY
    return found


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Have the services running; afterwards stop those that were started here.

    One that ran before, or that another process has come to use meanwhile, stays.
    """
    with contextlib.ExitStack() as stack:
        for service in services().values():
            if service.start():
                stack.callback(service.stop_if_unused)
        # First of all at the end: else a service looks used, by nobody but this process.
        stack.callback(_let_go)
        yield


def _let_go() -> None:
    """Close the connections that this process holds itself."""
    connections.close_all()
    kombu.pools.reset()
