"""Keep the ledger balanced, its closed months closed and its totals written."""

import pgtrigger

from benchmarks.triggers import CHANGES, OwnersTrigger, Trigger, refuse

# Posting shares this lock until the transaction ends; closing a month holds it alone. So a month
# is closed between two entries, never beside one that is not committed yet.
# Lock order everywhere: the engagement's row, a counter's row, then this.
CHECK_MONTH = Trigger(
    name="open_month",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    PERFORM pg_advisory_xact_lock_shared(202603, 1);
    IF EXISTS (SELECT 1 FROM engagements_period
               WHERE state = 'closed' AND month >= date_trunc('month', NEW.dated_on)) THEN
        {refuse("entry.open_month", "The month of % is closed.", "NEW.dated_on")}
    END IF;
    RETURN NEW;
    """,
)

# Deferred, because an entry is written before its legs.
BALANCE = Trigger(
    name="balance",
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    timing=pgtrigger.Deferred,
    func=f"""
    IF NEW.leg_count <> (SELECT count(*) FROM engagements_leg WHERE entry_id = NEW.id) THEN
        {refuse("entry.leg_count", "An entry must have the number of legs it was written with.")}
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_leg WHERE entry_id = NEW.id
               GROUP BY currency HAVING sum(amount) <> 0) THEN
        {refuse("entry.balance", "The legs of an entry must add up to 0 in each currency.")}
    END IF;
    RETURN NULL;
    """,
)

TOTAL_LEGS = OwnersTrigger(
    name="total",
    level=pgtrigger.Statement,
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    referencing=pgtrigger.Referencing(new="fresh"),
    func=f"""
    IF EXISTS (SELECT 1 FROM fresh JOIN engagements_entry entry ON entry.id = fresh.entry_id
               WHERE entry.engagement_id IS DISTINCT FROM fresh.engagement_id
                  OR entry.dated_on <> fresh.dated_on) THEN
        {refuse("leg.entry", "A leg has the engagement and the date of its entry.")}
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_entry entry
               WHERE entry.id IN (SELECT entry_id FROM fresh)
                 AND entry.leg_count < (SELECT count(*) FROM engagements_leg leg
                                        WHERE leg.entry_id = entry.id)) THEN
        {refuse("leg.leg_count", "An entry takes no further legs.")}
    END IF;
    INSERT INTO engagements_monthtotal AS total
        (engagement_id, account_id, currency, month, debit, credit, leg_count)
    SELECT engagement_id, account_id, currency, date_trunc('month', dated_on)::date,
           sum(greatest(amount, 0)), sum(greatest(-amount, 0)), count(*)
    FROM fresh GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (engagement_id, account_id, currency, month) DO UPDATE
    SET debit = total.debit + excluded.debit, credit = total.credit + excluded.credit,
        leg_count = total.leg_count + excluded.leg_count;
    RETURN NULL;
    """,
)

# An account with legs keeps its code and kind; its name and its DATEV number may change.
KEEP_USED_ACCOUNT = Trigger(
    name="in_use",
    when=pgtrigger.Before,
    operation=CHANGES,
    func=f"""
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.code, NEW.kind) = (OLD.id, OLD.code, OLD.kind) THEN
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_leg WHERE account_id = OLD.id) THEN
        {refuse("account.in_use", "An account with legs keeps its code and kind.")}
    END IF;
    RETURN coalesce(NEW, OLD);
    """,
)
