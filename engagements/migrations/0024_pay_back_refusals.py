"""What the database refuses of money on its way back beyond invoices."""

from typing import ClassVar

from django.db import migrations

# Proposed by one, sent by another, ended once: each step writes its own columns and no others.
PAY_BACKS = """
CREATE FUNCTION twofold_check_pay_back() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sending text[] := ARRAY['state', 'sent_by_id', 'sent_at', 'left_id', 'method', 'payee', 'iban',
                            'bic', 'file_id'];
    ending text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'reference', 'end_reason'];
    step text[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'proposed' THEN
            RAISE EXCEPTION 'what is paid back is proposed first'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        step := CASE WHEN (OLD.state, NEW.state) = ('proposed', 'paying') THEN sending
                     WHEN (OLD.state, NEW.state) IN (('proposed', 'voided'), ('paying', 'paid'),
                                                     ('paying', 'failed')) THEN ending END;
    END IF;
    IF step IS NULL OR to_jsonb(OLD) - step IS DISTINCT FROM to_jsonb(NEW) - step THEN
        RAISE EXCEPTION 'what is paid back is sent and ended once, and is never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state = 'paying' AND NOT EXISTS (
        SELECT 1 FROM engagements_payment WHERE id = NEW.left_id AND kind = 'paid_back'
            AND invoice_id = NEW.invoice_id AND amount = -NEW.amount
    ) THEN
        RAISE EXCEPTION 'what is sent has left its invoice'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state = 'failed' AND NOT EXISTS (
        SELECT 1 FROM engagements_payment WHERE moved_from_id = OLD.left_id
    ) THEN
        RAISE EXCEPTION 'what was not transferred comes back to its invoice'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pay_back_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_payback
    FOR EACH ROW EXECUTE FUNCTION twofold_check_pay_back();
"""

CAME_BACK = """
CREATE FUNCTION twofold_check_came_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM engagements_payment payment
        JOIN engagements_payback pay_back ON pay_back.left_id = payment.id
        WHERE payment.id = NEW.moved_from_id AND payment.kind = 'paid_back'
            AND payment.invoice_id = NEW.invoice_id AND payment.amount = -NEW.amount
            AND pay_back.state = 'paying'
    ) THEN
        RAISE EXCEPTION 'what comes back had left the same invoice, and had not arrived'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER overpayment_is_checked ON engagements_payment;
CREATE TRIGGER overpayment_is_checked AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.kind IN ('moved', 'paid_back'))
    EXECUTE FUNCTION twofold_check_overpayment();
CREATE TRIGGER came_back_is_checked AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.kind = 'came_back') EXECUTE FUNCTION twofold_check_came_back();
"""
NO_CAME_BACK = """
DROP TRIGGER came_back_is_checked ON engagements_payment;
DROP FUNCTION twofold_check_came_back();
DROP TRIGGER overpayment_is_checked ON engagements_payment;
CREATE TRIGGER overpayment_is_checked AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.kind <> 'received') EXECUTE FUNCTION twofold_check_overpayment();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0023_pay_backs")]

    operations: ClassVar = [
        migrations.RunSQL(
            PAY_BACKS,
            "DROP TRIGGER pay_back_is_checked ON engagements_payback;"
            "DROP FUNCTION twofold_check_pay_back();",
        ),
        migrations.RunSQL(CAME_BACK, NO_CAME_BACK),
    ]
