"""Dispute only measured acceptance runs of the same engagement; two people book a repeat."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse
from engagements.people.triggers import second_person

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

BOOKED_BY_ANOTHER = second_person(
    name="booked_by_another",
    code="dispute.booked_by_another",
    by="NEW.booked_by_id",
    others=("NEW.booking_proposed_by_id",),
    subject="'measurement_dispute:' || NEW.id",
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.booked_by_id IS DISTINCT FROM OLD.booked_by_id"),
)
