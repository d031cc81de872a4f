"""Let nobody approve or seal another benchmark than the one that was checked."""

from __future__ import annotations

import pgtrigger

from benchmarks.triggers import Trigger, refuse

CHECKED = Trigger(
    name="checked",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_versioncheck AS asked
        JOIN benchmarks_benchmarkcheck AS done ON done.id = asked.check_id
        WHERE asked.version_id = NEW.version_id AND done.checked_digest = NEW.digest
    ) THEN
        {refuse("benchmark.not_checked", "This benchmark has not passed its check.")}
    END IF;
    RETURN NEW;
    """,
)

APPROVED = Trigger(
    name="approved",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF (SELECT count(*) FROM engagements_benchmarkapproval AS given
        JOIN benchmarks_benchmark AS sealed ON sealed.digest = given.digest
        WHERE given.version_id = NEW.version_id AND sealed.id = NEW.benchmark_id) < 2 THEN
        {refuse("benchmark.not_approved", "Both sides approve a benchmark before it is sealed.")}
    END IF;
    RETURN NEW;
    """,
)
