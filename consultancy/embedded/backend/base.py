"""A database backend that starts the embedded server on the first connection.

Commands without database access start no server, and importing the settings stays fast.
"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError

from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to the embedded PostgreSQL."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Open a connection, starting the server if necessary."""
        try:
            return super().get_new_connection(conn_params)
        except OperationalError:
            server = Postgres(Place(Path(settings.TWOFOLD_HOME)))
            if server.ready():
                raise
            server.start()
            return super().get_new_connection(conn_params)
