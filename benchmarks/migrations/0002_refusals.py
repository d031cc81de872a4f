"""What the database refuses by trigger: sealed things change never, concluded runs no more."""

from typing import ClassVar

from django.db import migrations

APPEND_ONLY = """
CREATE FUNCTION twofold_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: a row is neither changed nor deleted', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""

RUN = """
CREATE FUNCTION twofold_check_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.state IN ('finished', 'failed') THEN
        RAISE EXCEPTION 'a run is never deleted, and never changed once it is concluded'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.attempt < OLD.attempt
        OR (NEW.benchmark_id, NEW.solution_id, NEW.request_key)
            IS DISTINCT FROM (OLD.benchmark_id, OLD.solution_id, OLD.request_key) THEN
        RAISE EXCEPTION 'a run keeps what it measures, and its attempts only rise'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_is_checked BEFORE UPDATE OR DELETE ON benchmarks_run
    FOR EACH ROW EXECUTE FUNCTION twofold_check_run();
"""


def append_only(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();",
        f"DROP TRIGGER append_only ON {table};",
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("benchmarks", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION twofold_refuse_change();"),
        append_only("benchmarks_benchmark"),
        append_only("benchmarks_solution"),
        append_only("benchmarks_record"),
        migrations.RunSQL(
            RUN, "DROP TRIGGER run_is_checked ON benchmarks_run; DROP FUNCTION twofold_check_run();"
        ),
    ]
