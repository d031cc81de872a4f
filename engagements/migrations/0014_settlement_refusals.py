"""What the database refuses of settlements, disputes and transfers."""

from typing import ClassVar

from django.db import migrations

SETTLEMENTS = """
CREATE OR REPLACE FUNCTION twofold_check_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
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


def refusal(sql: str, *, trigger: str, table: str, function: str) -> migrations.RunSQL:
    return migrations.RunSQL(sql, f"DROP TRIGGER {trigger} ON {table}; DROP FUNCTION {function}();")


def append_only(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();",
        f"DROP TRIGGER append_only ON {table};",
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0013_disputes_and_transfers")]

    operations: ClassVar = [
        migrations.RunSQL(SETTLEMENTS, migrations.RunSQL.noop),
        append_only("engagements_bankaccount"),
        append_only("engagements_transferfile"),
        append_only("engagements_settlement_credit_notes"),
        refusal(
            DISPUTES,
            trigger="dispute_is_checked",
            table="engagements_dispute",
            function="twofold_check_dispute",
        ),
        refusal(
            TRANSFERS,
            trigger="transfer_is_checked",
            table="engagements_transfer",
            function="twofold_check_transfer",
        ),
    ]
