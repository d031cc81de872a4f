"""What the database refuses of people, engagements, events, evidence and audits."""

from typing import ClassVar

from django.db import migrations

from engagements.migrations._triggers import append_only, refusal

# Whatever changes it, a page, a command or a hand in the database; and nothing counts it down,
# such as somebody's older copy of the row that is saved late.
ACCESS_CHANGES = """
CREATE FUNCTION twofold_count_access_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.access_changes := GREATEST(NEW.access_changes, OLD.access_changes);
    IF (OLD.email, OLD.role, OLD.is_active, OLD.is_staff)
        IS DISTINCT FROM (NEW.email, NEW.role, NEW.is_active, NEW.is_staff)
    THEN
        NEW.access_changes := OLD.access_changes + 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER access_changes_are_counted BEFORE UPDATE ON engagements_user
    FOR EACH ROW EXECUTE FUNCTION twofold_count_access_change();

CREATE FUNCTION twofold_count_membership_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (OLD.user_id, OLD.customer_id, OLD.rights)
        IS DISTINCT FROM (NEW.user_id, NEW.customer_id, NEW.rights)
    THEN
        UPDATE engagements_user SET access_changes = access_changes + 1 WHERE id = OLD.user_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER membership_changes_are_counted AFTER UPDATE OR DELETE ON engagements_membership
    FOR EACH ROW EXECUTE FUNCTION twofold_count_membership_change();
"""

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

# An event follows the last one of its engagement, and is counted. The count has the rights of
# whoever owns the tables, so that the role that the site runs as needs none to write it. The search
# path is fixed: nobody slips a table of their own under a function that has more rights than they do.
EVENTS = """
CREATE FUNCTION twofold_count_event() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    chain engagements_eventchain;
BEGIN
    SELECT * INTO chain FROM engagements_eventchain
        WHERE engagement_id = NEW.engagement_id FOR UPDATE;
    IF NEW.position IS DISTINCT FROM coalesce(chain.length, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(chain.head, '') THEN
        RAISE EXCEPTION 'an event follows the last one of its engagement'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO engagements_eventchain (engagement_id, length, head)
        VALUES (NEW.engagement_id, NEW.position, NEW.digest)
        ON CONFLICT (engagement_id) DO UPDATE SET length = NEW.position, head = NEW.digest;
    RETURN NULL;
END $$;
CREATE TRIGGER event_is_counted AFTER INSERT ON engagements_event
    FOR EACH ROW EXECUTE FUNCTION twofold_count_event();
"""

# Depth 1 is a statement of somebody's own; the trigger above writes at depth 2.
EVENT_CHAINS = """
CREATE FUNCTION twofold_check_event_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'only the database itself counts events'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER event_chain_is_checked BEFORE INSERT OR UPDATE OR DELETE ON engagements_eventchain
    FOR EACH ROW EXECUTE FUNCTION twofold_check_event_chain();
"""

# The file and where it came from never change; what was read from it may, by reading it again.
EVIDENCE = """
CREATE FUNCTION twofold_check_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    fixed text[] := ARRAY['engagement_id', 'name', 'file', 'digest', 'size_bytes',
                          'added_by_id', 'added_by_name', 'added_at'];
    name text;
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'evidence is kept, never deleted'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    FOREACH name IN ARRAY fixed LOOP
        IF to_jsonb(OLD) -> name IS DISTINCT FROM to_jsonb(NEW) -> name THEN
            RAISE EXCEPTION 'evidence is kept as it came (%)', name
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END LOOP;
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (
        ('queued', 'reading'), ('reading', 'queued'), ('reading', 'read'),
        ('reading', 'unreadable'), ('read', 'queued'), ('unreadable', 'queued')
    ) THEN
        RAISE EXCEPTION 'evidence does not go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER evidence_is_checked BEFORE UPDATE OR DELETE ON engagements_evidence
    FOR EACH ROW EXECUTE FUNCTION twofold_check_evidence();
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


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0002_refusals"),
    ]

    dependencies: ClassVar = [("engagements", "0011_ledger")]

    operations: ClassVar = [
        append_only("engagements_event"),
        append_only("engagements_eventanchor"),
        append_only("engagements_answer"),
        append_only("engagements_document"),
        refusal(ACCESS_CHANGES),
        refusal(STAGES),
        refusal(EVENTS),
        refusal(EVENT_CHAINS),
        refusal(EVIDENCE),
        refusal(AUDITS),
        refusal(FINDINGS),
    ]
