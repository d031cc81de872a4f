"""What the database refuses of money that leaves: more than came in, or than is too much."""

from typing import ClassVar

from django.db import migrations

# The engagement's row is locked, as the services do first of all: of two that send money back
# at once, the second sees what the first sent.
GONE = """
CREATE FUNCTION twofold_check_gone() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about bigint;
    came_in numeric;
    gone numeric;
BEGIN
    IF TG_TABLE_NAME = 'engagements_payment' THEN
        SELECT engagement_id INTO about FROM engagements_invoice WHERE id = NEW.invoice_id;
    ELSE
        SELECT engagement_id INTO about FROM engagements_contractversion
            WHERE id = NEW.contract_version_id;
    END IF;
    PERFORM 1 FROM engagements_engagement WHERE id = about FOR NO KEY UPDATE;
    SELECT coalesce(sum(payment.amount), 0) INTO came_in FROM engagements_payment payment
        JOIN engagements_invoice invoice ON invoice.id = payment.invoice_id
        WHERE invoice.engagement_id = about;
    SELECT coalesce(sum(settlement.refund), 0) INTO gone FROM engagements_settlement settlement
        JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
        WHERE contract.engagement_id = about AND settlement.state IN ('paying', 'paid');
    IF gone > came_in THEN
        RAISE EXCEPTION 'no more goes back than came in: % of %', gone, came_in
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER settlement_came_in AFTER INSERT OR UPDATE ON engagements_settlement
    FOR EACH ROW WHEN (NEW.state IN ('paying', 'paid')) EXECUTE FUNCTION twofold_check_gone();
CREATE TRIGGER payment_came_in AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.amount < 0) EXECUTE FUNCTION twofold_check_gone();
"""

OVERPAYMENTS = """
CREATE FUNCTION twofold_check_overpayment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    invoice record;
    source record;
BEGIN
    SELECT * INTO invoice FROM engagements_invoice WHERE id = NEW.invoice_id;
    PERFORM 1 FROM engagements_engagement WHERE id = invoice.engagement_id FOR NO KEY UPDATE;
    IF NEW.amount > 0 THEN
        SELECT payment.amount, other.id, other.customer_id, other.currency INTO source
            FROM engagements_payment payment
            JOIN engagements_invoice other ON other.id = payment.invoice_id
            WHERE payment.id = NEW.moved_from_id AND payment.kind = 'moved';
        IF source.amount IS DISTINCT FROM -NEW.amount OR source.id = invoice.id
            OR source.customer_id <> invoice.customer_id OR source.currency <> invoice.currency
        THEN
            RAISE EXCEPTION 'money is moved whole, to another invoice of its customer and currency'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    END IF;
    IF (SELECT sum(amount) FROM engagements_payment WHERE invoice_id = invoice.id)
        < invoice.gross - (SELECT coalesce(sum(gross), 0) FROM engagements_invoice
                           WHERE corrects_id = invoice.id AND state = 'issued')
    THEN
        RAISE EXCEPTION 'only what came in beyond an invoice leaves it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_settlement settlement
        JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
        WHERE contract.engagement_id = invoice.engagement_id AND settlement.state <> 'voided'
    ) THEN
        RAISE EXCEPTION 'what came in for a contract that is settled goes back by its settlement'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER overpayment_is_checked AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.kind <> 'received') EXECUTE FUNCTION twofold_check_overpayment();
"""

# Deferred: money leaves one invoice first and arrives at the other in the same transaction.
MOVED = """
CREATE FUNCTION twofold_check_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM engagements_payment WHERE moved_from_id = NEW.id) THEN
        RAISE EXCEPTION 'money that is moved arrives'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER moved_money_arrives AFTER INSERT ON engagements_payment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'moved' AND NEW.amount < 0)
    EXECUTE FUNCTION twofold_check_moved();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0019_overpayments")]

    operations: ClassVar = [
        migrations.RunSQL(
            GONE,
            "DROP TRIGGER settlement_came_in ON engagements_settlement;"
            "DROP TRIGGER payment_came_in ON engagements_payment;"
            "DROP FUNCTION twofold_check_gone();",
        ),
        migrations.RunSQL(
            OVERPAYMENTS,
            "DROP TRIGGER overpayment_is_checked ON engagements_payment;"
            "DROP FUNCTION twofold_check_overpayment();",
        ),
        migrations.RunSQL(
            MOVED,
            "DROP TRIGGER moved_money_arrives ON engagements_payment;"
            "DROP FUNCTION twofold_check_moved();",
        ),
    ]
