"""What the database refuses of clauses, pauses and amendments."""

from typing import ClassVar

from django.db import migrations

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
NO_PARTS = """
DROP TRIGGER part_is_checked ON engagements_contractclause;
DROP TRIGGER part_is_checked ON engagements_pause;
DROP FUNCTION twofold_check_contract_part();
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
NO_AMENDMENTS = """
DROP TRIGGER amendment_is_checked ON engagements_contractversion;
DROP FUNCTION twofold_check_amendment();
"""

FEE = """
CREATE OR REPLACE FUNCTION twofold_check_fee() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parts numeric := (SELECT coalesce(sum(amount), 0) FROM engagements_milestone
                      WHERE contract_version_id = NEW.id){carried};
BEGIN
    IF NEW.sealed_at IS NOT NULL AND parts <> NEW.fee THEN
        RAISE EXCEPTION 'the milestones add up to %, the fee is %', parts, NEW.fee
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
"""

STATES = """
CREATE OR REPLACE FUNCTION twofold_check_contract_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('draft', 'offered'), {expired}
        ('offered', 'accepted'), ('offered', 'declined'), ('offered', 'withdrawn'),
        ('accepted', 'superseded')
    ) THEN
        RAISE EXCEPTION 'a contract version does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0007_contract_terms")]

    operations: ClassVar = [
        migrations.RunSQL(PARTS, NO_PARTS),
        migrations.RunSQL(AMENDMENTS, NO_AMENDMENTS),
        migrations.RunSQL(FEE.format(carried=" + NEW.carried"), FEE.format(carried="")),
        migrations.RunSQL(
            STATES.format(expired="('offered', 'expired'),"), STATES.format(expired="")
        ),
        migrations.RunSQL(
            "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON engagements_clause "
            "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change();",
            "DROP TRIGGER append_only ON engagements_clause;",
        ),
    ]
