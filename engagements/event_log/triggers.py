"""Chain and count events in the database."""

import pgtrigger

from benchmarks.triggers import OwnersTrigger, Trigger, refuse

CHAIN_EVENTS = OwnersTrigger(
    name="chain",
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    declare=[("chain", "record")],
    func=f"""
    SELECT length, head INTO chain FROM engagements_eventchain
        WHERE engagement_id = NEW.engagement_id FOR UPDATE;
    IF NEW.position IS DISTINCT FROM coalesce(chain.length, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(chain.head, '') THEN
        {refuse("event.chain", "An event must follow the last event of its engagement.")}
    END IF;
    INSERT INTO engagements_eventchain (engagement_id, length, head)
        VALUES (NEW.engagement_id, NEW.position, NEW.digest)
        ON CONFLICT (engagement_id) DO UPDATE SET length = NEW.position, head = NEW.digest;
    RETURN NULL;
    """,
)

# The lock is that of `events.record_finance`.
CHAIN_FINANCE_EVENTS = Trigger(
    name="chain",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("last", "record")],
    func=f"""
    PERFORM pg_advisory_xact_lock(202603, 2);
    SELECT position, digest INTO last FROM engagements_financeevent ORDER BY position DESC LIMIT 1;
    IF NEW.position IS DISTINCT FROM coalesce(last.position, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(last.digest, '') THEN
        {refuse("financeevent.chain", "An event must follow the last event of finance.")}
    END IF;
    RETURN NEW;
    """,
)
