"""Close months one after another, keep their totals, and reopen only the latest."""

import pgtrigger

from benchmarks.triggers import OwnersTrigger, Trigger, refuse

_CLOSED = pgtrigger.Condition("OLD.state = 'proposed' AND NEW.state = 'closed'")

# See `ledger.triggers.CHECK_MONTH` for the lock.
CHECK_CLOSING = Trigger(
    name="closing",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=_CLOSED,
    func=f"""
    PERFORM pg_advisory_xact_lock(202603, 1);
    IF EXISTS (SELECT 1 FROM engagements_period
               WHERE state = 'closed' AND month >= NEW.month) THEN
        {refuse("period.closing", "This month is closed already.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_REOPENED = Trigger(
    name="reopened",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="reopened"),
    func=f"""
    PERFORM pg_advisory_xact_lock(202603, 1);
    IF NOT EXISTS (SELECT 1 FROM engagements_periodreopening
                   WHERE period_id = NEW.id AND state = 'posted') THEN
        {refuse("period.reopened", "Two people reopen a month.")}
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_period
               WHERE state = 'closed' AND month > NEW.month) THEN
        {refuse("period.latest", "Only the latest closed month is reopened.")}
    END IF;
    RETURN NEW;
    """,
)

TOTAL_PERIOD = OwnersTrigger(
    name="total",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    condition=_CLOSED,
    func="""
    INSERT INTO engagements_periodtotal (period_id, account_id, currency, debit, credit, leg_count)
    SELECT NEW.id, account_id, currency, sum(debit), sum(credit), sum(leg_count)
    FROM engagements_monthtotal
    WHERE month <= NEW.month
      AND month > coalesce((SELECT max(month) FROM engagements_period
                            WHERE id <> NEW.id AND state = 'closed'), '-infinity'::date)
    GROUP BY account_id, currency;
    RETURN NULL;
    """,
)
