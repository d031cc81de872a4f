#!/usr/bin/env python
"""Django's command line."""

import os
import sys


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "consultancy.settings")
    from django.core.management import execute_from_command_line
    from django.db import ProgrammingError
    from psycopg.errors import UndefinedTable

    try:
        execute_from_command_line(sys.argv)
    except ProgrammingError as error:
        if not isinstance(error.__cause__, UndefinedTable):
            raise
        missing = str(error).partition("\n")[0]
        sys.exit(
            f"{missing}. Run `manage.py migrate`, or choose another database with TWOFOLD_HOME or "
            "DATABASE_URL (the demonstration's home is .twofold/demo)."
        )


if __name__ == "__main__":
    from kernels.output import exit_when_stdout_closes

    with exit_when_stdout_closes():
        main()
