"""What the database refuses of contracts: sealed terms, their parts, who accepts them."""

from typing import ClassVar

from django.db import migrations

from engagements.migrations._triggers import append_only, refusal

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

CONTRACT_STATES = """
CREATE FUNCTION twofold_check_contract_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('draft', 'offered'), ('offered', 'expired'),
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

# An amendment changes neither whom nor in which money and by which tax the fee is paid.
AMENDMENTS = """
CREATE FUNCTION twofold_check_amendment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.amends_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM engagements_contractversion
        WHERE id = NEW.amends_id AND engagement_id = NEW.engagement_id
          AND currency = NEW.currency AND tax_treatment = NEW.tax_treatment
          AND tax_rate_percent = NEW.tax_rate_percent AND starts_on = NEW.starts_on
    ) THEN
        RAISE EXCEPTION 'an amendment keeps the engagement, the currency, the tax and the start'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER amendment_is_checked BEFORE INSERT OR UPDATE ON engagements_contractversion
    FOR EACH ROW EXECUTE FUNCTION twofold_check_amendment();
"""

# Clauses and pauses are part of the terms: fixed once their version is sealed.
PARTS = """
CREATE FUNCTION twofold_check_contract_part() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    versions bigint[] := CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.contract_version_id]
                                    WHEN 'DELETE' THEN ARRAY[OLD.contract_version_id]
                                    ELSE ARRAY[OLD.contract_version_id, NEW.contract_version_id]
                         END;
BEGIN
    IF EXISTS (SELECT 1 FROM engagements_contractversion
               WHERE id = ANY (versions) AND sealed_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the clauses and pauses of a sealed contract are never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER part_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_contractclause
    FOR EACH ROW EXECUTE FUNCTION twofold_check_contract_part();
CREATE TRIGGER part_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_pause
    FOR EACH ROW EXECUTE FUNCTION twofold_check_contract_part();
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

# What is credited in full because the invoice was wrong may be billed anew.
MILESTONE_STATES = """
CREATE FUNCTION twofold_check_milestone_state() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER milestone_state_is_checked BEFORE UPDATE ON engagements_milestone
    FOR EACH ROW EXECUTE FUNCTION twofold_check_milestone_state();
"""

# Deferred, so that a draft may be written milestone by milestone in one transaction.
MILESTONES_ADD_UP = """
CREATE FUNCTION twofold_check_fee() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parts numeric := (SELECT coalesce(sum(amount), 0) FROM engagements_milestone
                      WHERE contract_version_id = NEW.id) + NEW.carried;
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


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0003_further_refusals"),
        ("engagements", "0008_contract_refusals"),
    ]

    dependencies: ClassVar = [("engagements", "0012_engagement_refusals")]

    operations: ClassVar = [
        append_only("engagements_acceptance"),
        append_only("engagements_clause"),
        refusal(CONTRACTS),
        refusal(CONTRACT_STATES),
        refusal(AMENDMENTS),
        refusal(PARTS),
        refusal(MILESTONES),
        refusal(MILESTONE_STATES),
        refusal(MILESTONES_ADD_UP),
        refusal(ACCEPTANCES),
    ]
