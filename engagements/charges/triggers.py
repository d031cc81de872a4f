"""Refuse charges that their clause does not allow, whatever writes them."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

# The net of the milestones that are due already, over all agreed versions.
RELEASED = """(SELECT coalesce(sum(milestone.amount), 0) FROM engagements_milestone milestone
        JOIN engagements_contractversion version ON version.id = milestone.contract_version_id
        WHERE version.engagement_id = NEW.engagement_id
          AND version.state IN ('accepted', 'superseded')
          AND milestone.state IN ('released', 'billed'))"""

# The day on which both parties had accepted the first version.
AGREED_ON = """(SELECT max(acceptance.accepted_at)::date FROM engagements_acceptance acceptance
        WHERE acceptance.contract_version_id = (
            SELECT id FROM engagements_contractversion
            WHERE engagement_id = NEW.engagement_id AND state IN ('accepted', 'superseded')
            ORDER BY number LIMIT 1))"""

CHECK_CHARGE = Trigger(
    name="clause",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Q(new__state__in=["proposed", "approved"]),
    declare=[("contract", "record"), ("due", "numeric")],
    func=f"""
    SELECT * INTO contract FROM engagements_contractversion
        WHERE id = NEW.contract_version_id AND engagement_id = NEW.engagement_id
        AND state IN ('accepted', 'superseded');
    IF NOT FOUND THEN
        {refuse("charge.contract", "A charge is based on a contract in force.")}
    END IF;
    IF NEW.kind = 'repeat' AND NOT EXISTS (
        SELECT 1 FROM engagements_measurementdispute WHERE id = NEW.dispute_id
        AND engagement_id = NEW.engagement_id AND ended_at IS NOT NULL AND cost = NEW.amount
        AND cost_bearer = 'customer' AND cost_payer = 'consultancy' AND reimbursement = ''
    ) THEN
        {refuse("charge.repeat", "A repeat is charged at its cost where the customer bears it.")}
    END IF;
    IF NEW.kind = 'maintenance' AND (
        contract.maintenance_fee IS NULL OR NEW.amount > contract.maintenance_fee OR NOT EXISTS (
            SELECT 1 FROM engagements_event WHERE engagement_id = NEW.engagement_id
            AND verb = 'handover.accepted'
            AND date_trunc('month', happened_at AT TIME ZONE 'UTC')::date <= NEW.month)
    ) THEN
        {refuse("charge.maintenance", "A month after the handover costs at most the agreed fee.")}
    END IF;
    IF NEW.kind IN ('convenience', 'cause') THEN
        due := (contract.fee - NEW.released) * NEW.elapsed_days / NEW.all_days;
        IF NEW.kind = 'convenience' THEN
            due := least(greatest(due, contract.audit_cost - NEW.released),
                         contract.fee - NEW.released);
        END IF;
        IF NEW.released <> {RELEASED} OR abs(NEW.amount - due) > 0.5
            OR (NEW.kind = 'convenience' AND NOT contract.convenience) THEN
            {refuse("charge.termination", "A termination costs what its clause says.")}
        END IF;
        IF NEW.notice_on < {AGREED_ON} THEN
            {refuse("charge.notice", "A notice of termination is not dated before the contract.")}
        END IF;
        IF NOT EXISTS (SELECT 1 FROM engagements_engagement
                       WHERE id = NEW.engagement_id AND stage = 'active') THEN
            {refuse("charge.stage", "Only a running contract is terminated.")}
        END IF;
    END IF;
    IF NEW.kind = 'cause' AND NEW.request_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM engagements_cooperationrequest WHERE id = NEW.request_id
        AND engagement_id = NEW.engagement_id
        AND (provided_on IS NULL OR provided_on > NEW.notice_on)
    ) THEN
        {refuse("charge.request", "A cause is an item that the customer has not provided.")}
    END IF;
    RETURN NEW;
    """,
)

# A termination is cancelled only by the repeat that shows that the target was met before.
CHECK_CANCELLED = Trigger(
    name="cancelled",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="cancelled"),
    func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_invoice invoice
        WHERE invoice.charge_id = NEW.id AND invoice.kind = 'invoice' AND invoice.net > (
            SELECT coalesce(sum(note.net), 0) FROM engagements_invoice note
            WHERE note.corrects_id = invoice.id AND note.state = 'issued')
    ) THEN
        {refuse("charge.billed", "A charge that an invoice bills is not cancelled.")}
    END IF;
    IF NEW.kind IN ('convenience', 'cause') AND NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun
        WHERE engagement_id = NEW.engagement_id AND repeat_verdict = 'met'
    ) THEN
        {refuse("charge.termination_stays", "Only a repeat undoes a termination.")}
    END IF;
    RETURN NEW;
    """,
)
