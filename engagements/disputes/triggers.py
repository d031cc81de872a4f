"""Dispute only measured acceptance runs of the same engagement."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

DISPUTED_RUN = Trigger(
    name="disputed_run",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun run
        JOIN benchmarks_record record ON record.run_id = run.run_id
        WHERE run.id = NEW.run_id AND run.engagement_id = NEW.engagement_id
          AND run.purpose = 'acceptance' AND run.concluded_at IS NOT NULL
    ) THEN
        {refuse("dispute.no_measurement", "Only a measured acceptance run is disputed.")}
    END IF;
    RETURN NEW;
    """,
)
