"""Check payments: an issued invoice, the bank's amount, overpayments and the engagement's total."""

from __future__ import annotations

import pgtrigger
from pgtrigger.core import Condition, Operation

from benchmarks.triggers import Trigger, refuse

# A payment keyed by hand counts towards money that leaves once a bank line or a second person
# confirms it.
CONFIRMED = """(payment.kind NOT IN ('received', 'reversed') OR EXISTS (
        SELECT 1 FROM engagements_payment received
        LEFT JOIN engagements_paymentconfirmation confirmation
            ON confirmation.payment_id = received.id
        WHERE received.id IN (payment.id, payment.moved_from_id) AND received.kind = 'received'
            AND (received.bank_line_id IS NOT NULL OR confirmation.id IS NOT NULL)))"""

# Whether the bank line `line` shows a refund of ours: it carries its id, or was matched with it.
RETURNED_REFUND = """(EXISTS (
        SELECT 1 FROM engagements_transfermatch WHERE line_id = line.id
    ) OR (line.end_to_end_id <> '' AND (
        EXISTS (SELECT 1 FROM engagements_transfer
                WHERE upper(end_to_end_id) = upper(line.end_to_end_id))
        OR EXISTS (SELECT 1 FROM engagements_payment
                   WHERE kind = 'paid_back' AND upper(reference) = upper(line.end_to_end_id)))))"""


def confirmed_file(model: str) -> Trigger:
    """A trigger that refuses rows of `model` whose bank line is in an unconfirmed CSV."""
    column = "line_id" if model == "transfermatch" else "bank_line_id"
    return Trigger(
        name="confirmed_file",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert | pgtrigger.Update,
        condition=pgtrigger.Condition(f"NEW.{column} IS NOT NULL"),
        func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_bankline line
        JOIN engagements_bankimport file ON file.id = line.bank_import_id
        WHERE line.id = NEW.{column} AND file.format = 'csv' AND NOT EXISTS (
            SELECT 1 FROM engagements_bankimportconfirmation WHERE bank_import_id = file.id)
    ) THEN
        {refuse(f"{model}.confirmed_file", "A second person confirms the CSV first.")}
    END IF;
    RETURN NEW;
    """,
    )


# A handled line stays so, unless all its payments are reversed.
KEEP_HANDLED_LINE = Trigger(
    name="assigned",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(old__state__in=["assigned", "matched"]),
    func=f"""
    IF OLD.state <> 'assigned' OR NEW.state <> 'open' OR NOT EXISTS (
        SELECT 1 FROM engagements_payment WHERE bank_line_id = OLD.id
        HAVING sum(amount) = 0 AND count(*) > 0
    ) THEN
        {refuse("bankline.assigned", "A handled bank line stays as it is.")}
    END IF;
    RETURN NEW;
    """,
)

# A file that was read gets no further lines, but for the copies that are kept of a CSV which
# awaits its second person.
JOINS_OPEN_FILE = Trigger(
    name="open_file",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF EXISTS (
        SELECT 1 FROM engagements_bankimport file
        WHERE file.id = NEW.bank_import_id AND file.repeated_count IS NOT NULL AND (
            file.format <> 'csv' OR EXISTS (
                SELECT 1 FROM engagements_bankimportconfirmation
                WHERE bank_import_id = file.id))
    ) THEN
        {refuse("bankline.open_file", "This bank file is imported; it gets no further lines.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_REVERSAL = Trigger(
    name="reversal",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__kind="reversed"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_payment payment
        JOIN engagements_payment cause ON cause.id = payment.id
            OR cause.bank_line_id = payment.bank_line_id
        JOIN engagements_paymentreversal reversal ON reversal.payment_id = cause.id
        WHERE payment.id = NEW.moved_from_id AND payment.kind = 'received'
            AND payment.invoice_id = NEW.invoice_id AND payment.amount = -NEW.amount
            AND (NEW.bank_line_id IS NULL OR NEW.bank_line_id = payment.bank_line_id)
            AND reversal.state = 'posted'
            AND (reversal.cause = 'other_invoice' OR reversal.payment_id = payment.id)
    ) THEN
        {refuse("payment.reversal", "An approved reversal reverses a received payment.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_CONFIRMATION = Trigger(
    name="evidence",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("keyed", "record"), ("line", "record")],
    func=f"""
    SELECT payment.*, invoice.currency INTO keyed FROM engagements_payment payment
        JOIN engagements_invoice invoice ON invoice.id = payment.invoice_id
        WHERE payment.id = NEW.payment_id;
    IF keyed.kind <> 'received' OR keyed.bank_line_id IS NOT NULL THEN
        {refuse("paymentconfirmation.keyed", "Only a payment keyed by hand is confirmed.")}
    END IF;
    IF NEW.bank_line_id IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT * INTO line FROM engagements_bankline WHERE id = NEW.bank_line_id FOR UPDATE;
    IF (line.amount, line.currency) <> (keyed.amount, keyed.currency) OR {RETURNED_REFUND}
        OR EXISTS (SELECT 1 FROM engagements_payment WHERE bank_line_id = line.id) THEN
        {
        refuse(
            "paymentconfirmation.bank_line",
            "A bank line confirms one payment of its amount and currency.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)

CHECK_RECEIPT = Trigger(
    name="receipt",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("line", "record")],
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_invoice WHERE id = NEW.invoice_id
                   AND kind = 'invoice' AND state = 'issued') THEN
        {refuse("payment.invoice", "A payment must be for an issued invoice.")}
    END IF;
    IF NEW.bank_line_id IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT * INTO line FROM engagements_bankline WHERE id = NEW.bank_line_id FOR UPDATE;
    IF {RETURNED_REFUND} THEN
        {refuse("payment.returned_refund", "A returned refund is no payment of a customer.")}
    END IF;
    IF line.amount < coalesce(NEW.bank_amount, NEW.amount) + (
            SELECT coalesce(sum(coalesce(bank_amount, amount)), 0) FROM engagements_payment
            WHERE bank_line_id = line.id)
        OR EXISTS (SELECT 1 FROM engagements_paymentconfirmation WHERE bank_line_id = line.id)
        OR (NEW.bank_amount IS NULL) <> (line.currency = (
            SELECT currency FROM engagements_invoice WHERE id = NEW.invoice_id))
    THEN
        {
        refuse(
            "payment.bank_line",
            "Payments of a bank line cannot exceed its amount or drop its currency.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)

CHECK_OVERPAYMENT = Trigger(
    name="overpayment",
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__kind__in=["moved", "paid_back"]),
    declare=[("invoice", "record"), ("source", "record")],
    func=f"""
    SELECT * INTO invoice FROM engagements_invoice WHERE id = NEW.invoice_id;
    PERFORM 1 FROM engagements_engagement WHERE id = invoice.engagement_id FOR NO KEY UPDATE;
    IF NEW.amount > 0 THEN
        SELECT payment.amount, other.id, other.customer_id, other.currency INTO source
            FROM engagements_payment payment
            JOIN engagements_invoice other ON other.id = payment.invoice_id
            WHERE payment.id = NEW.moved_from_id AND payment.kind = 'moved';
        IF source.amount IS DISTINCT FROM -NEW.amount OR source.id = invoice.id
            OR source.customer_id <> invoice.customer_id OR source.currency <> invoice.currency
        THEN
            {
        refuse(
            "payment.moved_whole",
            "An overpayment moves whole, to another invoice of its customer and currency.",
        )
    }
        END IF;
        RETURN NULL;
    END IF;
    IF (SELECT sum(amount) FROM engagements_payment payment
        WHERE invoice_id = invoice.id AND {CONFIRMED})
        + (SELECT coalesce(sum(amount), 0) FROM engagements_writeoff
           WHERE invoice_id = invoice.id AND state = 'posted')
        < invoice.gross - (SELECT coalesce(sum(gross), 0) FROM engagements_invoice
                           WHERE corrects_id = invoice.id AND state = 'issued')
    THEN
        {refuse("payment.overpayment", "Only a confirmed overpayment can leave an invoice.")}
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_settlement settlement
        JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
        WHERE contract.engagement_id = invoice.engagement_id AND settlement.state <> 'voided'
            AND invoice.charge_id IS NULL
    ) THEN
        {refuse("payment.settled", "The settlement of a contract refunds its payments.")}
    END IF;
    RETURN NULL;
    """,
)

# Deferred: money leaves one invoice first and arrives at the other in the same transaction.
CHECK_MOVE = Trigger(
    name="moved",
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    timing=pgtrigger.Deferred,
    condition=pgtrigger.Q(new__kind="moved", new__amount__lt=0),
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_payment WHERE moved_from_id = NEW.id) THEN
        {refuse("payment.moved_arrives", "A moved overpayment must arrive at another invoice.")}
    END IF;
    RETURN NULL;
    """,
)

CHECK_RETURN = Trigger(
    name="came_back",
    when=pgtrigger.After,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__kind="came_back"),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_payment payment
        JOIN engagements_payback refund ON refund.left_id = payment.id
        WHERE payment.id = NEW.moved_from_id AND payment.kind = 'paid_back'
            AND payment.invoice_id = NEW.invoice_id AND payment.amount = -NEW.amount
            AND refund.state IN ('paying', 'paid')
    ) THEN
        {
        refuse(
            "payment.came_back",
            "A returned transfer must equal the refund that was sent for the same invoice.",
        )
    }
    END IF;
    RETURN NULL;
    """,
)


def limit_refunds(*, engagement: str, operation: Operation, condition: Condition) -> Trigger:
    """A trigger that refuses refunds of an engagement beyond its confirmed payments of the fee.

    `engagement` is the SQL that finds the engagement's id. Its row is locked, as the services do
    first of all: of two refunds at once the second sees the first.
    """
    return Trigger(
        name="refund_limit",
        when=pgtrigger.After,
        operation=operation,
        condition=condition,
        declare=[("about", "bigint"), ("received", "numeric"), ("refunded", "numeric")],
        func=f"""
    SELECT engagement_id INTO about FROM {engagement};
    PERFORM 1 FROM engagements_engagement WHERE id = about FOR NO KEY UPDATE;
    SELECT coalesce(sum(payment.amount), 0) INTO received FROM engagements_payment payment
        JOIN engagements_invoice invoice ON invoice.id = payment.invoice_id
        WHERE invoice.engagement_id = about AND invoice.charge_id IS NULL AND {CONFIRMED};
    SELECT coalesce(sum(settlement.refund), 0) INTO refunded FROM engagements_settlement settlement
        JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
        WHERE contract.engagement_id = about AND settlement.state IN ('paying', 'paid');
    IF refunded > received THEN
        {
            refuse(
                "settlement.refund_limit",
                "The refunds of % exceed the payments of %.",
                "refunded",
                "received",
            )
        }
    END IF;
    RETURN NULL;
    """,
    )
