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

CHECK_RETURNED = Trigger(
    name="returned",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(old__state="paid", new__state="failed"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_transfer transfer
        JOIN engagements_transfermatch match ON match.transfer_id = transfer.id
        WHERE transfer.settlement_id = NEW.id AND match.kind = 'returned'
          AND transfer.attempt = (SELECT max(attempt) FROM engagements_transfer
                                  WHERE settlement_id = NEW.id)
    ) THEN
        {refuse("settlement.returned", "A paid refund fails only by a return on a bank line.")}
    END IF;
    RETURN NEW;
    """,
)
