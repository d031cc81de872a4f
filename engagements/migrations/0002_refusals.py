"""What the database refuses by trigger: stages, sealed terms, milestones, settlements, history."""

from typing import ClassVar

from django.db import migrations

STAGES = """
CREATE FUNCTION twofold_check_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.stage <> OLD.stage AND (OLD.stage, NEW.stage) NOT IN (
        ('scoping', 'auditing'), ('scoping', 'cancelled'),
        ('auditing', 'audited'), ('auditing', 'redirected'), ('auditing', 'declined'),
        ('auditing', 'cancelled'),
        ('audited', 'offered'), ('audited', 'cancelled'),
        ('offered', 'active'), ('offered', 'audited'), ('offered', 'cancelled'),
        ('active', 'met'), ('active', 'missed'), ('active', 'cancelled'),
        ('met', 'closed'), ('missed', 'closed')
    ) THEN
        RAISE EXCEPTION 'an engagement does not go from % to %', OLD.stage, NEW.stage
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER stage_is_checked BEFORE UPDATE ON engagements_engagement
    FOR EACH ROW EXECUTE FUNCTION twofold_check_stage();
"""

CONTRACTS = """
CREATE FUNCTION twofold_check_contract() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.sealed_at IS NULL THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'DELETE' OR to_jsonb(OLD) - 'state' IS DISTINCT FROM to_jsonb(NEW) - 'state' THEN
        RAISE EXCEPTION 'sealed terms are never changed: an amendment is a new version'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER contract_is_checked BEFORE UPDATE OR DELETE ON engagements_contractversion
    FOR EACH ROW EXECUTE FUNCTION twofold_check_contract();
"""

# Only what became of a milestone may change once its contract is sealed.
MILESTONES = """
CREATE FUNCTION twofold_check_milestone() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    progress text[] := ARRAY['state', 'released_at', 'billed_at', 'billing_reference'];
    contract bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.contract_version_id
                                  ELSE OLD.contract_version_id END;
BEGIN
    IF (SELECT sealed_at IS NULL FROM engagements_contractversion WHERE id = contract) THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP <> 'UPDATE' OR to_jsonb(OLD) - progress IS DISTINCT FROM to_jsonb(NEW) - progress THEN
        RAISE EXCEPTION 'the milestones of a sealed contract are never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER milestone_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_milestone
    FOR EACH ROW EXECUTE FUNCTION twofold_check_milestone();
"""

# Deferred, so that a draft may be written milestone by milestone in one transaction.
MILESTONES_ADD_UP = """
CREATE FUNCTION twofold_check_fee() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parts numeric := (SELECT coalesce(sum(amount), 0) FROM engagements_milestone
                      WHERE contract_version_id = NEW.id);
BEGIN
    IF NEW.sealed_at IS NOT NULL AND parts <> NEW.fee THEN
        RAISE EXCEPTION 'the milestones add up to %, the fee is %', parts, NEW.fee
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER milestones_add_up AFTER INSERT OR UPDATE ON engagements_contractversion
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION twofold_check_fee();
"""

SETTLEMENTS = """
CREATE FUNCTION twofold_check_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    fixed text[] := ARRAY['contract_version_id', 'reason', 'currency', 'payments_received',
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
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('proposed', 'approved'), ('proposed', 'voided'),
        ('approved', 'paying'), ('approved', 'paid'), ('approved', 'voided'),
        ('paying', 'paid'), ('paying', 'failed'),
        ('failed', 'paying'), ('failed', 'paid'), ('failed', 'voided')
    ) THEN
        RAISE EXCEPTION 'a settlement does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER settlement_is_checked BEFORE UPDATE OR DELETE ON engagements_settlement
    FOR EACH ROW EXECUTE FUNCTION twofold_check_settlement();
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
    dependencies: ClassVar = [
        ("engagements", "0001_initial"),
        ("benchmarks", "0002_refusals"),
    ]

    operations: ClassVar = [
        append_only("engagements_event"),
        append_only("engagements_acceptance"),
        append_only("engagements_payment"),
        append_only("engagements_document"),
        refusal(
            STAGES,
            trigger="stage_is_checked",
            table="engagements_engagement",
            function="twofold_check_stage",
        ),
        refusal(
            CONTRACTS,
            trigger="contract_is_checked",
            table="engagements_contractversion",
            function="twofold_check_contract",
        ),
        refusal(
            MILESTONES,
            trigger="milestone_is_checked",
            table="engagements_milestone",
            function="twofold_check_milestone",
        ),
        refusal(
            MILESTONES_ADD_UP,
            trigger="milestones_add_up",
            table="engagements_contractversion",
            function="twofold_check_fee",
        ),
        refusal(
            SETTLEMENTS,
            trigger="settlement_is_checked",
            table="engagements_settlement",
            function="twofold_check_settlement",
        ),
    ]
