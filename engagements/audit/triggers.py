"""Freeze the findings of a delivered audit."""

import pgtrigger

from benchmarks.triggers import WRITES, Trigger, refuse

FREEZE_FINDINGS = Trigger(
    name="delivered",
    when=pgtrigger.Before,
    operation=WRITES,
    func=f"""
    IF EXISTS (SELECT 1 FROM engagements_audit
               WHERE id IN (OLD.audit_id, NEW.audit_id) AND delivered_at IS NOT NULL) THEN
        {refuse("finding.delivered", "The findings of a delivered audit cannot be changed.")}
    END IF;
    RETURN coalesce(NEW, OLD);
    """,
)
