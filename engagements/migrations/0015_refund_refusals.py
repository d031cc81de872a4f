"""What the database refuses of money that goes back: more than came in, or than is too much."""

from typing import ClassVar

from django.db import migrations

from engagements.migrations._triggers import append_only, refusal

SETTLEMENTS = """
CREATE FUNCTION twofold_check_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    fixed text[] := ARRAY['contract_version_id', 'reason', 'note', 'currency',
                          'payments_received', 'refunded_before',
                          'audit_cost', 'audit_tax', 'refund', 'balance_due',
                          'proposed_by_id', 'proposed_at'];
    name text;
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'a settlement is voided, never deleted'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    FOREACH name IN ARRAY fixed LOOP
        IF to_jsonb(OLD) -> name IS DISTINCT FROM to_jsonb(NEW) -> name THEN
            RAISE EXCEPTION 'what a settlement was proposed with is never changed (%)', name
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END LOOP;
    IF NEW.state = OLD.state THEN
        IF OLD.state IN ('paid', 'voided') AND NEW IS DISTINCT FROM OLD THEN
            RAISE EXCEPTION 'a settlement that is paid or voided stays as it is'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.state, NEW.state) NOT IN (
        ('proposed', 'approved'), ('proposed', 'voided'),
        ('approved', 'paying'), ('approved', 'paid'), ('approved', 'voided'),
        ('paying', 'paid'), ('paying', 'failed'),
        ('failed', 'paying'), ('failed', 'paid'), ('failed', 'voided')
    ) THEN
        RAISE EXCEPTION 'a settlement does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- What the bank has done may be said of a disputed one; nothing else of it moves.
    IF NEW.state <> 'voided' AND OLD.state <> 'paying' AND EXISTS (
        SELECT 1 FROM engagements_dispute WHERE settlement_id = NEW.id AND resolved_at IS NULL
    ) THEN
        RAISE EXCEPTION 'a disputed settlement is on hold'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER settlement_is_checked BEFORE UPDATE OR DELETE ON engagements_settlement
    FOR EACH ROW EXECUTE FUNCTION twofold_check_settlement();
"""

# The settlement's row is locked, so a dispute and an approval at once come one after the other.
DISPUTES = """
CREATE FUNCTION twofold_check_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ending text[] := ARRAY['resolution', 'resolved_by_id', 'resolved_at'];
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM 1 FROM engagements_settlement WHERE id = NEW.settlement_id FOR UPDATE;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR OLD.resolved_at IS NOT NULL
        OR to_jsonb(OLD) - ending IS DISTINCT FROM to_jsonb(NEW) - ending THEN
        RAISE EXCEPTION 'a dispute is resolved once, and never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER dispute_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_dispute
    FOR EACH ROW EXECUTE FUNCTION twofold_check_dispute();
"""

TRANSFERS = """
CREATE FUNCTION twofold_check_transfer() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ending text[] := ARRAY['outcome', 'ended_at', 'reference', 'failure_reason'];
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT EXISTS (SELECT 1 FROM engagements_settlement WHERE id = NEW.settlement_id
                       AND refund = NEW.amount AND currency = NEW.currency) THEN
            RAISE EXCEPTION 'a transfer is for exactly what its settlement sends back'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR OLD.outcome <> ''
        OR to_jsonb(OLD) - ending IS DISTINCT FROM to_jsonb(NEW) - ending THEN
        RAISE EXCEPTION 'a transfer ends once, and is never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transfer_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_transfer
    FOR EACH ROW EXECUTE FUNCTION twofold_check_transfer();
"""

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
    FOR EACH ROW WHEN (NEW.kind IN ('moved', 'paid_back'))
    EXECUTE FUNCTION twofold_check_overpayment();
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
CREATE TRIGGER came_back_is_checked AFTER INSERT ON engagements_payment
    FOR EACH ROW WHEN (NEW.kind = 'came_back') EXECUTE FUNCTION twofold_check_came_back();
"""


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0014_settlement_refusals"),
        ("engagements", "0020_no_more_goes_back"),
        ("engagements", "0024_pay_back_refusals"),
    ]

    dependencies: ClassVar = [("engagements", "0014_invoice_refusals")]

    operations: ClassVar = [
        append_only("engagements_bankaccount"),
        append_only("engagements_transferfile"),
        append_only("engagements_settlement_credit_notes"),
        refusal(SETTLEMENTS),
        refusal(DISPUTES),
        refusal(TRANSFERS),
        refusal(GONE),
        refusal(OVERPAYMENTS),
        refusal(MOVED),
        refusal(PAY_BACKS),
        refusal(CAME_BACK),
    ]
