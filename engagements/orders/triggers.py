"""Require a signatory of the customer to accept an audit order."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

CHECK_ACCEPTED = Trigger(
    name="signatory",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="accepted"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_membership membership
        JOIN engagements_user person ON person.id = membership.user_id
        JOIN engagements_engagement engagement ON engagement.customer_id = membership.customer_id
        WHERE engagement.id = NEW.engagement_id AND person.id = NEW.accepted_by_id
            AND membership.rights = 'signatory' AND person.is_active AND person.role = ''
    ) THEN
        {refuse("auditorder.signatory", "A signatory of the customer accepts an audit order.")}
    END IF;
    RETURN NEW;
    """,
)
