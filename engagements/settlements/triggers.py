"""Hold disputed settlements."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

# The bank's answer to a transfer may still be recorded for a disputed settlement, and no other
# move but voiding it.
HOLD_DISPUTED = Trigger(
    name="on_hold",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition(
        "OLD.state <> NEW.state AND NEW.state <> 'voided' AND OLD.state <> 'paying'"
    ),
    func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_dispute WHERE settlement_id = NEW.id AND resolved_at IS NULL
    ) THEN
        {refuse("settlement.on_hold", "A disputed settlement is on hold.")}
    END IF;
    RETURN NEW;
    """,
)

# A dispute and an approval at once come one after the other.
LOCK_SETTLEMENT = Trigger(
    name="lock_settlement",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func="""
    PERFORM 1 FROM engagements_settlement WHERE id = NEW.settlement_id FOR UPDATE;
    RETURN NEW;
    """,
)
