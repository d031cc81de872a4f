"""Totals and counts are written with the rights of whoever owns the tables.

So the role that the site runs as needs none to write them itself. The search path is fixed:
nobody slips a table of their own under a function that has more rights than they do.
"""

from typing import ClassVar

from django.db import migrations

FUNCTIONS = ("twofold_count_event", "twofold_total_legs", "twofold_total_period")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0015_computed_findings")]

    operations: ClassVar = [
        migrations.RunSQL(
            f"ALTER FUNCTION {name}() SECURITY DEFINER SET search_path = public, pg_temp;",
            f"ALTER FUNCTION {name}() SECURITY INVOKER RESET search_path;",
        )
        for name in FUNCTIONS
    ]
