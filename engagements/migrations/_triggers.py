"""What the database refuses by trigger, as operations that can be taken back."""

import re

from django.db import migrations

TRIGGER = re.compile(r"CREATE (?:CONSTRAINT )?TRIGGER (\w+) .*? ON (\w+)", re.DOTALL)
FUNCTION = re.compile(r"CREATE FUNCTION (\w+)\(\)")


def refusal(sql: str) -> migrations.RunSQL:
    """The functions and triggers that `sql` makes; taken back, they are dropped."""
    dropped = [f"DROP TRIGGER {name} ON {table};" for name, table in TRIGGER.findall(sql)]
    dropped += [f"DROP FUNCTION {name}();" for name in FUNCTION.findall(sql)]
    return migrations.RunSQL(sql, " ".join(dropped))


def append_only(table: str) -> migrations.RunSQL:
    """Rows of this table are added, and neither changed nor deleted."""
    return refusal(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();"
    )
