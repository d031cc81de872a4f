"""Hold disputed settlements, and require different people to propose, approve and pay."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse
from engagements.people.triggers import second_person

# Who set the account that a refund of the contract's customer would be sent to, and who
# confirmed it: a signatory of the customer may be of finance since.
_NEWEST_ACCOUNT = """FROM engagements_bankaccount account
        LEFT JOIN engagements_bankaccountconfirmation confirmation
            ON confirmation.account_id = account.id
        JOIN engagements_engagement engagement ON engagement.customer_id = account.customer_id
        JOIN engagements_contractversion contract ON contract.engagement_id = engagement.id
        WHERE contract.id = NEW.contract_version_id AND NEW.refund > 0
        ORDER BY account.id DESC LIMIT 1"""
SET_THE_ACCOUNT = (
    f"(SELECT account.added_by_id {_NEWEST_ACCOUNT})",
    f"(SELECT confirmation.confirmed_by_id {_NEWEST_ACCOUNT})",
)

APPROVED_BY_ANOTHER = second_person(
    name="approved_by_another",
    code="settlement.approved_by_another",
    by="NEW.approved_by_id",
    others=("NEW.proposed_by_id", *SET_THE_ACCOUNT),
    subject="'settlement:' || NEW.id",
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.approved_by_id IS DISTINCT FROM OLD.approved_by_id"),
)

# A settlement without a refund is filed, and moves no money.
PAID_BY_ANOTHER = second_person(
    name="paid_by_another",
    code="settlement.paid_by_another",
    by="NEW.paid_by_id",
    others=("NEW.approved_by_id",),
    subject="'settlement:' || NEW.id",
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.paid_by_id IS NOT NULL AND NEW.refund > 0"),
)

# The bank's answer to a transfer may still be recorded for a disputed settlement, also that it
# returns one that it had executed, and no other move but voiding it.
HOLD_DISPUTED = Trigger(
    name="on_hold",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition(
        "OLD.state <> NEW.state AND NEW.state <> 'voided' AND OLD.state NOT IN ('paying', 'paid')"
    ),
    func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_dispute WHERE settlement_id = NEW.id AND resolved_at IS NULL
    ) OR EXISTS (
        SELECT 1 FROM engagements_measurementdispute dispute
        JOIN engagements_contractversion contract ON contract.engagement_id = dispute.engagement_id
        WHERE contract.id = NEW.contract_version_id
          AND (dispute.state = 'open' OR dispute.awaits_booking)
    ) THEN
        {refuse("settlement.on_hold", "A disputed settlement is on hold.")}
    END IF;
    RETURN NEW;
    """,
)

# A dispute and an approval at once come one after the other.
LOCK_SETTLEMENT = Trigger(
    name="lock_settlement",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func="""
    PERFORM 1 FROM engagements_settlement WHERE id = NEW.settlement_id FOR UPDATE;
    RETURN NEW;
    """,
)

CHECK_RETURNED = Trigger(
    name="returned",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(old__state="paid", new__state="failed"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_transfer transfer
        JOIN engagements_transfermatch match ON match.transfer_id = transfer.id
        WHERE transfer.settlement_id = NEW.id AND match.kind = 'returned'
          AND transfer.attempt = (SELECT max(attempt) FROM engagements_transfer
                                  WHERE settlement_id = NEW.id)
    ) THEN
        {refuse("settlement.returned", "A paid refund fails only by a return on a bank line.")}
    END IF;
    RETURN NEW;
    """,
)

# A missed target is settled from its final attempt, and a cause is two disqualified runs.
CHECK_GROUNDS = Trigger(
    name="grounds",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__reason__in=["missed", "cause"]),
    func=f"""
    IF NEW.reason = 'missed' AND NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun run
        JOIN engagements_contractversion contract ON contract.engagement_id = run.engagement_id
        WHERE contract.id = NEW.contract_version_id AND run.final_at IS NOT NULL
          AND coalesce(nullif(run.repeat_verdict, ''), run.decision) <> 'met'
    ) THEN
        {refuse("settlement.no_final_attempt", "No attempt of this contract is final.")}
    END IF;
    IF NEW.reason = 'cause' AND (
        SELECT count(*) FROM engagements_engagementrun run
        JOIN engagements_contractversion contract ON contract.engagement_id = run.engagement_id
        WHERE contract.id = NEW.contract_version_id AND run.attempt IS NOT NULL
          AND coalesce(nullif(run.repeat_verdict, ''), run.decision) = 'disqualified'
    ) < 2 THEN
        {refuse("settlement.no_cause", "A cause is two disqualified acceptance runs.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_OVERTURNED = Trigger(
    name="overturned",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.overturned_at IS NOT NULL"),
    func=f"""
    IF NEW.state NOT IN ('voided', 'paid') OR NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun run
        JOIN engagements_contractversion contract ON contract.engagement_id = run.engagement_id
        WHERE contract.id = NEW.contract_version_id AND run.repeat_verdict <> ''
    ) THEN
        {refuse("settlement.overturned", "Only a repeat that replaced a verdict overturns it.")}
    END IF;
    RETURN NEW;
    """,
)
