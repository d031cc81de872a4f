"""Count changes of access in the database: pages, commands and SQL by hand count alike."""

import pgtrigger

from benchmarks.triggers import CHANGES, Trigger

# The count never falls: somebody's older copy of the row may be saved late.
COUNT_ACCESS_CHANGES = Trigger(
    name="count_access_changes",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    func="""
    NEW.access_changes := GREATEST(NEW.access_changes, OLD.access_changes);
    IF (OLD.email, OLD.role, OLD.is_active, OLD.is_staff)
        IS DISTINCT FROM (NEW.email, NEW.role, NEW.is_active, NEW.is_staff)
    THEN
        NEW.access_changes := OLD.access_changes + 1;
    END IF;
    RETURN NEW;
    """,
)

COUNT_MEMBERSHIP_CHANGES = Trigger(
    name="count_access_changes",
    when=pgtrigger.After,
    operation=CHANGES,
    func="""
    IF TG_OP = 'DELETE' OR (OLD.user_id, OLD.customer_id, OLD.rights)
        IS DISTINCT FROM (NEW.user_id, NEW.customer_id, NEW.rights)
    THEN
        UPDATE engagements_user SET access_changes = access_changes + 1 WHERE id = OLD.user_id;
    END IF;
    RETURN NULL;
    """,
)
