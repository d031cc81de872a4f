"""What the database refuses of the ledger, and the totals that it keeps by itself.

Totals are written with the rights of whoever owns the tables: the role that the site runs as needs
none to write them. The search path is fixed: nobody slips a table of their own under a function
that has more rights than they do.
"""

from typing import ClassVar

from django.db import migrations

from engagements.migrations._triggers import append_only, refusal

# Whoever posts shares this lock until the transaction ends; whoever closes a month holds it
# alone. So a month is closed between two entries, never beside one that is not committed yet.
# Lock order everywhere: the engagement's row, a counter's row, then this.
PERIODS = """
CREATE FUNCTION twofold_check_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(202603, 1);
    IF EXISTS (SELECT 1 FROM engagements_period WHERE month >= date_trunc('month', NEW.dated_on)) THEN
        RAISE EXCEPTION 'nothing is dated into a closed month (%)', NEW.dated_on
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entry_is_checked BEFORE INSERT ON engagements_entry
    FOR EACH ROW EXECUTE FUNCTION twofold_check_entry();

CREATE FUNCTION twofold_check_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(202603, 1);
    IF EXISTS (SELECT 1 FROM engagements_period WHERE month >= NEW.month) THEN
        RAISE EXCEPTION 'this month is closed already'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER period_is_checked BEFORE INSERT ON engagements_period
    FOR EACH ROW EXECUTE FUNCTION twofold_check_period();

CREATE FUNCTION twofold_total_period() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO engagements_periodtotal (period_id, account_id, currency, debit, credit, leg_count)
    SELECT NEW.id, account_id, currency, sum(debit), sum(credit), sum(leg_count)
    FROM engagements_monthtotal
    WHERE month <= NEW.month
      AND month > coalesce((SELECT max(month) FROM engagements_period WHERE id <> NEW.id),
                           '-infinity'::date)
    GROUP BY account_id, currency;
    RETURN NULL;
END $$;
CREATE TRIGGER period_is_totalled AFTER INSERT ON engagements_period
    FOR EACH ROW EXECUTE FUNCTION twofold_total_period();
"""

# Deferred, because an entry is written before its legs.
BALANCED = """
CREATE FUNCTION twofold_check_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.leg_count <> (SELECT count(*) FROM engagements_leg WHERE entry_id = NEW.id) THEN
        RAISE EXCEPTION 'an entry has the legs that it was written with'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_leg WHERE entry_id = NEW.id
               GROUP BY currency HAVING sum(amount) <> 0) THEN
        RAISE EXCEPTION 'the legs of an entry add up to nothing in each currency'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER entry_is_balanced AFTER INSERT ON engagements_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION twofold_check_balance();
"""

LEGS = """
CREATE FUNCTION twofold_total_legs() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM fresh JOIN engagements_entry entry ON entry.id = fresh.entry_id
               WHERE entry.engagement_id <> fresh.engagement_id
                  OR entry.dated_on <> fresh.dated_on) THEN
        RAISE EXCEPTION 'a leg has the engagement and the day of its entry'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_entry entry
               WHERE entry.id IN (SELECT entry_id FROM fresh)
                 AND entry.leg_count < (SELECT count(*) FROM engagements_leg leg
                                        WHERE leg.entry_id = entry.id)) THEN
        RAISE EXCEPTION 'an entry gets no further legs'
            USING ERRCODE = 'integrity_constraint_violation';
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
END $$;
CREATE TRIGGER legs_are_totalled AFTER INSERT ON engagements_leg
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION twofold_total_legs();
"""

# Written by the triggers above, where this one is called from inside another.
TOTALS = """
CREATE FUNCTION twofold_refuse_by_hand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION '% is kept by the database alone', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER kept_by_trigger BEFORE INSERT OR UPDATE OR DELETE ON engagements_monthtotal
    FOR EACH ROW EXECUTE FUNCTION twofold_refuse_by_hand();
CREATE TRIGGER kept_by_trigger BEFORE INSERT OR UPDATE OR DELETE ON engagements_periodtotal
    FOR EACH ROW EXECUTE FUNCTION twofold_refuse_by_hand();
"""

# An account with legs stays what it is; its name and its DATEV number may change.
ACCOUNTS = """
CREATE FUNCTION twofold_check_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.code = OLD.code AND NEW.kind = OLD.kind AND NEW.id = OLD.id THEN
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_leg WHERE account_id = OLD.id) THEN
        RAISE EXCEPTION 'an account that was posted to stays what it is'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER account_is_checked BEFORE UPDATE OR DELETE ON engagements_account
    FOR EACH ROW EXECUTE FUNCTION twofold_check_account();
"""


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0011_ledger_refusals"),
        ("engagements", "0016_counted_by_the_owner"),
    ]

    dependencies: ClassVar = [("engagements", "0015_refund_refusals")]

    operations: ClassVar = [
        append_only("engagements_entry"),
        append_only("engagements_leg"),
        append_only("engagements_period"),
        refusal(PERIODS),
        refusal(BALANCED),
        refusal(LEGS),
        refusal(TOTALS),
        refusal(ACCOUNTS),
    ]
