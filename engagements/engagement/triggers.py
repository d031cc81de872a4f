"""Keep engagements open while their ledger is not balanced, and verdicts until a repeat.

A contract is terminated by an approved charge.
"""

from __future__ import annotations

import pgtrigger

from benchmarks.triggers import Trigger, refuse

# The ledger accounts between us and the customer (`ledger.chart`).
CUSTOMER_ACCOUNTS = (
    *("receivables", "transfers", "audit_unbilled", "fees_unbilled"),
    *("fees_deferred", "refund_liability", "refund_payable"),
)
_CODES = ", ".join(f"'{code}'" for code in CUSTOMER_ACCOUNTS)

CHECK_BALANCE = Trigger(
    name="balance",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.stage = 'closed' AND OLD.stage <> 'closed'"),
    func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_monthtotal total
        JOIN engagements_account account ON account.id = total.account_id
        WHERE total.engagement_id = NEW.id AND account.code IN ({_CODES})
        GROUP BY account.id, total.currency HAVING sum(total.debit - total.credit) <> 0
    ) THEN
        {refuse("engagement.balance", "An engagement with an open ledger balance is not closed.")}
    END IF;
    RETURN NEW;
    """,
)

# A verdict is undone only by the repeat of a disputed acceptance run.
CHECK_REPEAT = Trigger(
    name="repeat",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition(
        "OLD.stage = 'met' AND NEW.stage IN ('active', 'missed')"
        " OR OLD.stage = 'missed' AND NEW.stage IN ('active', 'met')"
        " OR OLD.stage = 'terminated' AND NEW.stage = 'met'"
    ),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun WHERE engagement_id = NEW.id
        AND repeat_verdict <> '' AND (repeat_verdict = 'met') = (NEW.stage = 'met')
    ) THEN
        {refuse("engagement.repeat", "Only the repeat of an acceptance run undoes a verdict.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_TERMINATION = Trigger(
    name="termination",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.stage = 'terminated' AND OLD.stage = 'active'"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_charge WHERE engagement_id = NEW.id AND state = 'approved'
        AND kind IN ('convenience', 'cause')
    ) THEN
        {refuse("engagement.termination", "A contract ends by an approved termination.")}
    END IF;
    RETURN NEW;
    """,
)
