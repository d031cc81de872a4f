"""What the database refuses of invoices, counters, bank files and payments."""

from typing import ClassVar

from django.db import migrations

from engagements.migrations._triggers import append_only, refusal

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
# An amendment leaves what was released before with the version that released it; one invoice
# may collect milestones of both.
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
    IF NOT EXISTS (SELECT 1 FROM engagements_milestone milestone
                   JOIN engagements_contractversion contract
                     ON contract.id = milestone.contract_version_id
                   WHERE milestone.id = NEW.milestone_id
                   AND contract.engagement_id = parent.engagement_id
                   AND contract.currency = parent.currency) THEN
        RAISE EXCEPTION 'an invoice collects milestones of its own engagement'
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

PAYMENTS = """
CREATE FUNCTION twofold_check_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    line record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM engagements_invoice WHERE id = NEW.invoice_id
                   AND kind = 'invoice' AND state = 'issued') THEN
        RAISE EXCEPTION 'nothing is paid that was not billed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.bank_line_id IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT * INTO line FROM engagements_bankline WHERE id = NEW.bank_line_id FOR UPDATE;
    IF line.amount < NEW.amount + (SELECT coalesce(sum(amount), 0) FROM engagements_payment
                                   WHERE bank_line_id = line.id)
        OR line.currency <> (SELECT currency FROM engagements_invoice WHERE id = NEW.invoice_id)
    THEN
        RAISE EXCEPTION 'no more is assigned than the bank says came in, in its currency'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_is_checked BEFORE INSERT ON engagements_payment
    FOR EACH ROW EXECUTE FUNCTION twofold_check_payment();
"""


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0006_invoice_refusals"),
    ]

    dependencies: ClassVar = [("engagements", "0013_contract_refusals")]

    operations: ClassVar = [
        # Its mails are sent by the outbox, so the reminder itself never changes.
        append_only("engagements_reminder"),
        append_only("engagements_payment"),
        refusal(COUNTERS),
        refusal(NUMBERS_ARE_USED),
        refusal(INVOICES),
        refusal(CREDIT_NOTES),
        refusal(LINES),
        refusal(BANK_IMPORTS),
        refusal(BANK_LINES),
        refusal(PAYMENTS),
    ]
