"""What else the database refuses: who accepts what, delivered audits, milestones, payments."""

from typing import ClassVar

from django.db import migrations

ACCEPTANCES = """
CREATE FUNCTION twofold_check_acceptance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM engagements_contractversion
                   WHERE id = NEW.contract_version_id AND state = 'offered'
                     AND digest = NEW.digest) THEN
        RAISE EXCEPTION 'only the sealed terms on offer are accepted, by their own digest'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER acceptance_is_checked BEFORE INSERT ON engagements_acceptance
    FOR EACH ROW EXECUTE FUNCTION twofold_check_acceptance();
"""

AUDITS = """
CREATE FUNCTION twofold_check_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.delivered_at IS NOT NULL THEN
        RAISE EXCEPTION 'a delivered audit is never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER audit_is_checked BEFORE UPDATE OR DELETE ON engagements_audit
    FOR EACH ROW EXECUTE FUNCTION twofold_check_audit();
"""

FINDINGS = """
CREATE FUNCTION twofold_check_finding() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    audit bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.audit_id ELSE OLD.audit_id END;
BEGIN
    IF (SELECT delivered_at IS NOT NULL FROM engagements_audit WHERE id = audit) THEN
        RAISE EXCEPTION 'the findings of a delivered audit are never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER finding_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_finding
    FOR EACH ROW EXECUTE FUNCTION twofold_check_finding();
"""

MILESTONE_STATES = """
CREATE FUNCTION twofold_check_milestone_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('pending', 'released'), ('released', 'billed'),
        ('pending', 'void'), ('released', 'void'), ('billed', 'void')
    ) THEN
        RAISE EXCEPTION 'a milestone does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER milestone_state_is_checked BEFORE UPDATE ON engagements_milestone
    FOR EACH ROW EXECUTE FUNCTION twofold_check_milestone_state();
"""

PAYMENTS = """
CREATE FUNCTION twofold_check_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT billed_at IS NULL FROM engagements_milestone WHERE id = NEW.milestone_id) THEN
        RAISE EXCEPTION 'nothing is paid that was not billed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_is_checked BEFORE INSERT ON engagements_payment
    FOR EACH ROW EXECUTE FUNCTION twofold_check_payment();
"""

CONTRACT_STATES = """
CREATE FUNCTION twofold_check_contract_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('draft', 'offered'),
        ('offered', 'accepted'), ('offered', 'declined'), ('offered', 'withdrawn'),
        ('accepted', 'superseded')
    ) THEN
        RAISE EXCEPTION 'a contract version does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER contract_state_is_checked BEFORE UPDATE ON engagements_contractversion
    FOR EACH ROW EXECUTE FUNCTION twofold_check_contract_state();
"""


def refusal(sql: str, *, trigger: str, table: str, function: str) -> migrations.RunSQL:
    return migrations.RunSQL(sql, f"DROP TRIGGER {trigger} ON {table}; DROP FUNCTION {function}();")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0002_refusals")]

    operations: ClassVar = [
        refusal(
            ACCEPTANCES,
            trigger="acceptance_is_checked",
            table="engagements_acceptance",
            function="twofold_check_acceptance",
        ),
        refusal(
            AUDITS,
            trigger="audit_is_checked",
            table="engagements_audit",
            function="twofold_check_audit",
        ),
        refusal(
            FINDINGS,
            trigger="finding_is_checked",
            table="engagements_finding",
            function="twofold_check_finding",
        ),
        refusal(
            MILESTONE_STATES,
            trigger="milestone_state_is_checked",
            table="engagements_milestone",
            function="twofold_check_milestone_state",
        ),
        refusal(
            PAYMENTS,
            trigger="payment_is_checked",
            table="engagements_payment",
            function="twofold_check_payment",
        ),
        refusal(
            CONTRACT_STATES,
            trigger="contract_state_is_checked",
            table="engagements_contractversion",
            function="twofold_check_contract_state",
        ),
    ]
