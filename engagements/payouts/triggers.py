"""Check transfers against their settlement, and refunds of overpayments against payments."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

CHECK_TRANSFER = Trigger(
    name="amount",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_settlement WHERE id = NEW.settlement_id
                   AND refund = NEW.amount AND currency = NEW.currency) THEN
        {refuse("transfer.amount", "A transfer is for exactly the refund of its settlement.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_SENT = Trigger(
    name="sent_payment",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="paying"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_payment WHERE id = NEW.left_id AND kind = 'paid_back'
            AND invoice_id = NEW.invoice_id AND amount = -NEW.amount
    ) THEN
        {
        refuse(
            "overpaymentrefund.sent_payment",
            "A refund in progress needs its payment off the invoice.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)

CHECK_FAILED = Trigger(
    name="failed_payment",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="failed"),
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_payment WHERE moved_from_id = OLD.left_id) THEN
        {
        refuse(
            "overpaymentrefund.failed_payment",
            "A failed refund must come back to its invoice.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)

CHECK_MATCH = Trigger(
    name="line",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("line", "record")],
    func=f"""
    SELECT * INTO line FROM engagements_bankline WHERE id = NEW.line_id FOR UPDATE;
    IF (line.amount < 0) <> (NEW.kind = 'executed') THEN
        {
        refuse(
            "transfermatch.direction", "An executed transfer is a debit, a returned one a credit."
        )
    }
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_payment WHERE bank_line_id = line.id)
        OR abs(line.amount) < NEW.amount + (
            SELECT coalesce(sum(amount), 0) FROM engagements_transfermatch WHERE line_id = line.id)
    THEN
        {refuse("transfermatch.amount", "A bank line shows its amount once.")}
    END IF;
    RETURN NEW;
    """,
)
