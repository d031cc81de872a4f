"""Start and stop the embedded services of this configuration together."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

import kombu.pools
from django.conf import settings
from django.db import connections


class Service(Protocol):
    """The common interface of the embedded PostgreSQL and Valkey."""

    def ready(self) -> bool:
        """Whether the server accepts connections."""

    def start(self) -> bool:
        """Start it; False when it is already running."""

    def stop(self) -> bool:
        """Stop it; False when it is not running."""

    def stop_if_unused(self) -> bool:
        """Stop it unless another client is connected."""


def services() -> dict[str, Service]:
    """The embedded services by name, without those that have a configured server."""
    found: dict[str, Service] = {}
    if settings.DATABASES["default"]["ENGINE"] == "consultancy.embedded.backend":
        found["postgres"] = settings.POSTGRES
    if settings.BROKER_IS_EMBEDDED:
        found["valkey"] = settings.VALKEY
    return found


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Run the services; on exit stop those that this call started and no other process uses."""
    with contextlib.ExitStack() as stack:
        for service in services().values():
            if service.start():
                stack.callback(service.stop_if_unused)
        # Runs first: this process's own connections would make a service look in use.
        stack.callback(_close_connections)
        yield


def _close_connections() -> None:
    connections.close_all()
    kombu.pools.reset()
