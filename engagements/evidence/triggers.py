"""Let a file name only a candidate that was measured in its engagement."""

from __future__ import annotations

import pgtrigger

from benchmarks.triggers import Trigger, refuse

CANDIDATE = Trigger(
    name="candidate",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.UpdateOf("candidate_id"),
    condition=pgtrigger.Q(new__candidate__isnull=False),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun AS asked
        JOIN benchmarks_run AS measured ON measured.id = asked.run_id
        WHERE asked.engagement_id = NEW.engagement_id
          AND measured.solution_id = NEW.candidate_id
    ) THEN
        {refuse("evidence.candidate", "Choose a candidate of a run of this engagement.")}
    END IF;
    RETURN NEW;
    """,
)
