"""What the database refuses of invoices, counters, bank files and reminders."""

from typing import ClassVar

from django.db import migrations

COUNTERS = """
CREATE FUNCTION twofold_check_counter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'a counter is never deleted'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (TG_OP = 'INSERT' AND NEW.last <> 0) OR (TG_OP = 'UPDATE' AND (
        NEW.last <> OLD.last + 1 OR NEW.series <> OLD.series OR NEW.year <> OLD.year
    )) THEN
        RAISE EXCEPTION 'a counter begins at nothing and goes up by one'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER counter_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_counter
    FOR EACH ROW EXECUTE FUNCTION twofold_check_counter();
"""

# Deferred: a number is taken first and written on its invoice in the same transaction.
NUMBERS_ARE_USED = """
CREATE FUNCTION twofold_check_number_is_used() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM engagements_invoice WHERE series = NEW.series
                   AND year = NEW.year AND number = NEW.last) THEN
        RAISE EXCEPTION 'number % of % % is taken and not used', NEW.last, NEW.series, NEW.year
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER number_is_used AFTER UPDATE ON engagements_counter
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION twofold_check_number_is_used();
"""

INVOICES = """
CREATE FUNCTION twofold_check_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parts record;
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.state = 'issued' THEN
        RAISE EXCEPTION 'an issued invoice is never changed: a credit note corrects it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF NEW.state = 'draft' THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' THEN
        RAISE EXCEPTION 'an invoice begins as a draft'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM engagements_counter WHERE series = NEW.series
                   AND year = NEW.year AND last = NEW.number) THEN
        RAISE EXCEPTION 'an invoice gets the number that its counter has just given'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.number > 1 AND NOT EXISTS (
        SELECT 1 FROM engagements_invoice WHERE series = NEW.series AND year = NEW.year
        AND number = NEW.number - 1 AND issued_on <= NEW.issued_on
    ) THEN
        RAISE EXCEPTION 'invoices are numbered without a gap, in the order of their days'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT count(*) AS lines, coalesce(sum(net), 0) AS net, coalesce(sum(tax), 0) AS tax INTO parts
        FROM engagements_invoiceline WHERE invoice_id = NEW.id;
    IF parts.lines = 0 OR parts.net <> NEW.net OR parts.tax <> NEW.tax THEN
        RAISE EXCEPTION 'the lines of an invoice add up to it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER invoice_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_invoice
    FOR EACH ROW EXECUTE FUNCTION twofold_check_invoice();
"""

# The original's row is locked, so of two credit notes at once the second sees the first.
CREDIT_NOTES = """
CREATE FUNCTION twofold_check_credit_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> 'issued' OR NEW.kind <> 'credit_note' THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM engagements_invoice WHERE id = NEW.corrects_id FOR UPDATE;
    IF NOT EXISTS (
        SELECT 1 FROM engagements_invoice WHERE id = NEW.corrects_id AND kind = 'invoice'
        AND state = 'issued' AND currency = NEW.currency AND engagement_id = NEW.engagement_id
    ) THEN
        RAISE EXCEPTION 'a credit note corrects an issued invoice of its own engagement'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_invoiceline line
        JOIN engagements_invoiceline original ON original.id = line.corrects_id
        WHERE line.invoice_id = NEW.id AND (
            original.net < (SELECT sum(credit.net) FROM engagements_invoiceline credit
                            JOIN engagements_invoice note ON note.id = credit.invoice_id
                            WHERE credit.corrects_id = original.id
                            AND (note.state = 'issued' OR note.id = NEW.id))
            OR original.tax < (SELECT sum(credit.tax) FROM engagements_invoiceline credit
                               JOIN engagements_invoice note ON note.id = credit.invoice_id
                               WHERE credit.corrects_id = original.id
                               AND (note.state = 'issued' OR note.id = NEW.id)))
    ) THEN
        RAISE EXCEPTION 'no more is credited than was invoiced'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER credit_note_is_checked BEFORE UPDATE ON engagements_invoice
    FOR EACH ROW EXECUTE FUNCTION twofold_check_credit_note();
"""

# Parent and milestone are locked: a line never slips onto an invoice that is being issued,
# and two drafts never collect the same milestone.
LINES = """
CREATE FUNCTION twofold_check_invoice_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent record;
BEGIN
    SELECT * INTO parent FROM engagements_invoice
        WHERE id = CASE TG_OP WHEN 'INSERT' THEN NEW.invoice_id ELSE OLD.invoice_id END FOR UPDATE;
    IF parent.state = 'issued' THEN
        RAISE EXCEPTION 'the lines of an issued invoice are never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND (
        NEW.invoice_id <> OLD.invoice_id OR NEW.milestone_id <> OLD.milestone_id
        OR NEW.corrects_id IS DISTINCT FROM OLD.corrects_id
    ) THEN
        RAISE EXCEPTION 'a line stays on its invoice, about its milestone'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (parent.kind = 'credit_note') <> (NEW.corrects_id IS NOT NULL) OR (
        NEW.corrects_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM engagements_invoiceline original WHERE original.id = NEW.corrects_id
            AND original.invoice_id = parent.corrects_id
            AND original.milestone_id = NEW.milestone_id)
    ) THEN
        RAISE EXCEPTION 'the lines of a credit note correct those of the invoice it corrects'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.corrects_id IS NOT NULL OR TG_OP = 'UPDATE' THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM engagements_milestone WHERE id = NEW.milestone_id FOR UPDATE;
    IF NOT EXISTS (SELECT 1 FROM engagements_milestone WHERE id = NEW.milestone_id
                   AND contract_version_id = parent.contract_version_id) THEN
        RAISE EXCEPTION 'an invoice collects milestones of one contract'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_invoiceline line
        WHERE line.milestone_id = NEW.milestone_id AND line.corrects_id IS NULL AND line.net > (
            SELECT coalesce(sum(credit.net), 0) FROM engagements_invoiceline credit
            JOIN engagements_invoice note ON note.id = credit.invoice_id
            WHERE credit.corrects_id = line.id AND note.state = 'issued')
    ) THEN
        RAISE EXCEPTION 'a milestone stands on one invoice until that is credited in full'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER invoice_line_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_invoiceline
    FOR EACH ROW EXECUTE FUNCTION twofold_check_invoice_line();
"""

BANK_IMPORTS = """
CREATE FUNCTION twofold_check_bank_import() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    reading text[] := ARRAY['layout', 'repeated_count', 'passed_over_count'];
BEGIN
    IF OLD.repeated_count IS NOT NULL THEN
        RAISE EXCEPTION 'a bank file that was read is never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF to_jsonb(OLD) - reading IS DISTINCT FROM to_jsonb(NEW) - reading THEN
        RAISE EXCEPTION 'a bank file is kept as it was handed in'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_import_is_checked BEFORE UPDATE OR DELETE ON engagements_bankimport
    FOR EACH ROW EXECUTE FUNCTION twofold_check_bank_import();
"""

BANK_LINES = """
CREATE FUNCTION twofold_check_bank_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    handling text[] := ARRAY['state', 'note', 'handled_by_id', 'handled_at'];
BEGIN
    IF TG_OP = 'DELETE' OR to_jsonb(OLD) - handling IS DISTINCT FROM to_jsonb(NEW) - handling THEN
        RAISE EXCEPTION 'what the bank said is never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'assigned' THEN
        RAISE EXCEPTION 'money that was assigned to an invoice stays there'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_line_is_checked BEFORE UPDATE OR DELETE ON engagements_bankline
    FOR EACH ROW EXECUTE FUNCTION twofold_check_bank_line();
"""

REMINDERS = """
CREATE FUNCTION twofold_check_reminder() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sending text[] := ARRAY['sent_at', 'recipients'];
BEGIN
    IF TG_OP = 'DELETE' OR OLD.sent_at IS NOT NULL
        OR to_jsonb(OLD) - sending IS DISTINCT FROM to_jsonb(NEW) - sending THEN
        RAISE EXCEPTION 'a reminder is sent once and never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER reminder_is_checked BEFORE UPDATE OR DELETE ON engagements_reminder
    FOR EACH ROW EXECUTE FUNCTION twofold_check_reminder();
"""

# What is credited in full because the invoice was wrong may be billed anew.
MILESTONE_STATES = """
CREATE OR REPLACE FUNCTION twofold_check_milestone_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('pending', 'released'), ('released', 'billed'), ('billed', 'released'),
        ('pending', 'void'), ('released', 'void'), ('billed', 'void')
    ) THEN
        RAISE EXCEPTION 'a milestone does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


def refusal(sql: str, *, trigger: str, table: str, function: str) -> migrations.RunSQL:
    return migrations.RunSQL(sql, f"DROP TRIGGER {trigger} ON {table}; DROP FUNCTION {function}();")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0005_invoices")]

    operations: ClassVar = [
        refusal(
            COUNTERS,
            trigger="counter_is_checked",
            table="engagements_counter",
            function="twofold_check_counter",
        ),
        refusal(
            NUMBERS_ARE_USED,
            trigger="number_is_used",
            table="engagements_counter",
            function="twofold_check_number_is_used",
        ),
        refusal(
            INVOICES,
            trigger="invoice_is_checked",
            table="engagements_invoice",
            function="twofold_check_invoice",
        ),
        refusal(
            CREDIT_NOTES,
            trigger="credit_note_is_checked",
            table="engagements_invoice",
            function="twofold_check_credit_note",
        ),
        refusal(
            LINES,
            trigger="invoice_line_is_checked",
            table="engagements_invoiceline",
            function="twofold_check_invoice_line",
        ),
        refusal(
            BANK_IMPORTS,
            trigger="bank_import_is_checked",
            table="engagements_bankimport",
            function="twofold_check_bank_import",
        ),
        refusal(
            BANK_LINES,
            trigger="bank_line_is_checked",
            table="engagements_bankline",
            function="twofold_check_bank_line",
        ),
        refusal(
            REMINDERS,
            trigger="reminder_is_checked",
            table="engagements_reminder",
            function="twofold_check_reminder",
        ),
        migrations.RunSQL(MILESTONE_STATES, migrations.RunSQL.noop),
    ]
