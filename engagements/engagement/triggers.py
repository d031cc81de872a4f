"""Keep engagements open while their ledger is not balanced."""

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
