"""Check transfers: their amount, their account, and who sends them."""

from __future__ import annotations

import pgtrigger
from pgtrigger.core import Condition, Operation

from benchmarks.triggers import Trigger, refuse
from engagements.people.triggers import second_person

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
    IF abs(line.amount) = NEW.amount AND NEW.kind = 'executed'
        AND line.payer_account ~ '^[A-Z][A-Z][0-9][0-9][A-Z0-9]+$'
        AND length(line.payer_account) > 14
        AND EXISTS (SELECT 1 FROM engagements_transfer WHERE id = NEW.transfer_id
                    AND iban NOT IN ('', line.payer_account))
    THEN
        {refuse("transfermatch.payee", "The bank paid another account than that of the refund.")}
    END IF;
    IF EXISTS (SELECT 1 FROM engagements_payment WHERE bank_line_id = line.id)
        OR EXISTS (SELECT 1 FROM engagements_paymentconfirmation WHERE bank_line_id = line.id)
        OR EXISTS (SELECT 1 FROM engagements_paymentreversal
                   WHERE bank_line_id = line.id AND state = 'posted')
        OR abs(line.amount) < NEW.amount - NEW.charges + (
            SELECT coalesce(sum(amount - charges), 0) FROM engagements_transfermatch
            WHERE line_id = line.id)
    THEN
        {refuse("transfermatch.amount", "A bank line shows its amount once.")}
    END IF;
    RETURN NEW;
    """,
)


def _customer(rows: str) -> str:
    """Return the SQL of the customer's id; `rows` joins `engagement`."""
    return f"(SELECT engagement.customer_id FROM {rows})"


_OF_SETTLEMENT = _customer(
    "engagements_settlement settlement"
    " JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id"
    " JOIN engagements_engagement engagement ON engagement.id = contract.engagement_id"
    " WHERE settlement.id = NEW.settlement_id"
)
_OF_OVERPAYMENT = _customer(
    "engagements_invoice invoice"
    " JOIN engagements_engagement engagement ON engagement.id = invoice.engagement_id"
    " WHERE invoice.id = NEW.invoice_id"
)


def _set_by(customer: str) -> tuple[str, ...]:
    """Return the SQL of who set the account in use, and who set the customer's newest one.

    Who confirmed it as a signatory of the customer may be of finance since.
    """
    newest = (
        f"(SELECT id FROM engagements_bankaccount WHERE customer_id = {customer}"
        " ORDER BY id DESC LIMIT 1)"
    )
    return tuple(
        sql
        for account in ("NEW.account_id", newest)
        for sql in (
            f"(SELECT added_by_id FROM engagements_bankaccount WHERE id = {account})",
            "(SELECT confirmed_by_id FROM engagements_bankaccountconfirmation"
            f" WHERE account_id = {account})",
        )
    )


def _check_account(customer: str, *, operation: Operation, condition: Condition) -> Trigger:
    """A trigger that refuses accounts which are not the customer's, confirmed and usable.

    Without any account on file, money is transferred by hand, and the transfer names none.
    """
    return Trigger(
        name="account",
        when=pgtrigger.Before,
        operation=operation,
        condition=condition,
        func=f"""
    IF NEW.account_id IS NULL AND NEW.iban = '' AND NOT EXISTS (
        SELECT 1 FROM engagements_bankaccount WHERE customer_id = {customer}
    ) THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (
        SELECT 1 FROM engagements_bankaccount account
        JOIN engagements_bankaccountconfirmation confirmation
            ON confirmation.account_id = account.id
        WHERE account.id = NEW.account_id AND account.iban = NEW.iban
            AND account.customer_id = {customer} AND confirmation.usable_from <= clock_timestamp()
    ) THEN
        {
            refuse(
                "transfer.account",
                "Money goes to an account that the customer confirmed and that is usable.",
            )
        }
    END IF;
    RETURN NEW;
    """,
    )


_SENT = pgtrigger.Condition("OLD.state = 'proposed' AND NEW.state = 'paying'")
CHECK_ACCOUNT = _check_account(
    _OF_SETTLEMENT, operation=pgtrigger.Insert, condition=pgtrigger.Condition("true")
)
CHECK_ACCOUNT_OF_OVERPAYMENT = _check_account(
    _OF_OVERPAYMENT, operation=pgtrigger.Update, condition=_SENT
)

STARTED_BY_ANOTHER = second_person(
    name="started_by_another",
    code="transfer.started_by_another",
    by="NEW.started_by_id",
    others=(
        "(SELECT approved_by_id FROM engagements_settlement WHERE id = NEW.settlement_id)",
        *_set_by(_OF_SETTLEMENT),
    ),
    subject="'settlement:' || NEW.settlement_id",
    operation=pgtrigger.Insert,
)

# The account may have been set after the approval.
APPROVER_SET_NO_ACCOUNT = second_person(
    name="approver",
    code="transfer.approver_set_account",
    by="(SELECT approved_by_id FROM engagements_settlement WHERE id = NEW.settlement_id)",
    others=_set_by(_OF_SETTLEMENT),
    subject="'settlement:' || NEW.settlement_id",
    operation=pgtrigger.Insert,
)

# Otherwise one person would send an approved refund again and again.
FAILED_BY_ANOTHER = second_person(
    name="failed_by_another",
    code="transfer.failed_by_another",
    by="NEW.failed_by_id",
    others=("NEW.started_by_id",),
    subject="'settlement:' || NEW.settlement_id",
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__failed_by__isnull=False),
)

OVERPAYMENT_FAILED_BY_ANOTHER = second_person(
    name="failed_by_another",
    code="overpaymentrefund.failed_by_another",
    by="NEW.ended_by_id",
    others=("NEW.sent_by_id",),
    subject="'overpayment_refund:' || NEW.id",
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="failed"),
)

SENT_BY_ANOTHER = second_person(
    name="sent_by_another",
    code="overpaymentrefund.sent_by_another",
    by="NEW.sent_by_id",
    others=("NEW.proposed_by_id", *_set_by(_OF_OVERPAYMENT)),
    subject="'overpayment_refund:' || NEW.id",
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.sent_by_id IS NOT NULL"),
)
