"""Chain and count events in the database."""

import pgtrigger

from benchmarks.triggers import OwnersTrigger, refuse

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
