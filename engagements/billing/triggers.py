"""Number invoices without gaps, freeze issued ones and limit credit notes."""

import pgtrigger

from benchmarks.triggers import WRITES, Trigger, refuse
from engagements.common.money import MOST_WRITTEN_OFF_ALONE

# Deferred: a number is taken first and written on its invoice in the same transaction.
USE_NUMBERS = Trigger(
    name="number_is_used",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    timing=pgtrigger.Deferred,
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_invoice WHERE series = NEW.series
                   AND year = NEW.year AND number = NEW.last) THEN
        {
        refuse(
            "counter.number_is_used",
            "Number % of % % is taken but no invoice has it.",
            "NEW.last",
            "NEW.series",
            "NEW.year",
        )
    }
    END IF;
    RETURN NULL;
    """,
)

CHECK_ISSUE = Trigger(
    name="issue",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="issued"),
    declare=[("lines", "record")],
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_counter WHERE series = NEW.series
                   AND year = NEW.year AND last = NEW.number) THEN
        {refuse("invoice.counter", "An invoice must take the next number of its counter.")}
    END IF;
    IF NEW.number > 1 AND NOT EXISTS (
        SELECT 1 FROM engagements_invoice WHERE series = NEW.series AND year = NEW.year
        AND number = NEW.number - 1 AND issued_on <= NEW.issued_on
    ) THEN
        {refuse("invoice.numbering", "Invoices are numbered without gaps, in order of date.")}
    END IF;
    SELECT count(*) AS count, coalesce(sum(net), 0) AS net, coalesce(sum(tax), 0) AS tax INTO lines
        FROM engagements_invoiceline WHERE invoice_id = NEW.id;
    IF lines.count = 0 OR lines.net <> NEW.net OR lines.tax <> NEW.tax THEN
        {refuse("invoice.lines_add_up", "The lines of an invoice must add up to its total.")}
    END IF;
    RETURN NEW;
    """,
)

# The original's row is locked, so of two credit notes at once the second sees the first.
CHECK_CREDIT = Trigger(
    name="credit",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="issued", new__kind="credit_note"),
    func=f"""
    PERFORM 1 FROM engagements_invoice WHERE id = NEW.corrects_id FOR UPDATE;
    IF NOT EXISTS (
        SELECT 1 FROM engagements_invoice WHERE id = NEW.corrects_id AND kind = 'invoice'
        AND state = 'issued' AND currency = NEW.currency AND engagement_id = NEW.engagement_id
    ) THEN
        {
        refuse(
            "invoice.credit_original",
            "A credit note must correct an issued invoice of its own engagement.",
        )
    }
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_invoiceline line
        JOIN engagements_invoiceline original ON original.id = line.corrects_id
        CROSS JOIN LATERAL (
            SELECT sum(credit.net) AS net, sum(credit.tax) AS tax
            FROM engagements_invoiceline credit
            JOIN engagements_invoice note ON note.id = credit.invoice_id
            WHERE credit.corrects_id = original.id AND (note.state = 'issued' OR note.id = NEW.id)
        ) credited
        WHERE line.invoice_id = NEW.id
          AND (original.net < credited.net OR original.tax < credited.tax)
    ) THEN
        {refuse("invoice.credit_limit", "A credit note cannot exceed the invoiced amount.")}
    END IF;
    RETURN NEW;
    """,
)

# All that one person credited of an invoice, in however many notes. A note without people is made
# by the application within a decision, which has its own.
ISSUED_BY_ANOTHER = Trigger(
    name="issued_by_another",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="issued", new__kind="credit_note"),
    func=f"""
    IF (NEW.issued_by_id IS NULL) <> (NEW.drafted_by_id IS NULL) OR (
        NEW.issued_by_id = NEW.drafted_by_id
        AND {MOST_WRITTEN_OFF_ALONE} < NEW.gross + (
            SELECT coalesce(sum(gross), 0) FROM engagements_invoice
            WHERE corrects_id = NEW.corrects_id AND state = 'issued'
            AND issued_by_id = drafted_by_id)
        AND NOT EXISTS (SELECT 1 FROM engagements_soleapproval
            WHERE subject = 'credit_note:' || NEW.id AND by_id = NEW.issued_by_id)
    ) THEN
        {refuse("invoice.issued_by_another", "Another person issues this credit note.")}
    END IF;
    RETURN NEW;
    """,
)


def billed_once(column: str, code: str, message: str) -> str:
    """The statement that refuses a line where another invoice bills the same order or charge."""
    return f"""IF EXISTS (
            SELECT 1 FROM engagements_invoiceline line
            JOIN engagements_invoice other ON other.id = line.invoice_id
            WHERE other.{column} = parent.{column} AND line.corrects_id IS NULL
            AND line.net > (
                SELECT coalesce(sum(credit.net), 0) FROM engagements_invoiceline credit
                JOIN engagements_invoice note ON note.id = credit.invoice_id
                WHERE credit.corrects_id = line.id AND note.state = 'issued')
        ) THEN
            {refuse(code, message)}
        END IF;"""


# Invoice and milestone are locked: a line never slips onto an invoice that is being issued, and
# two drafts never collect the same milestone. An amendment leaves what was released before with
# the version that released it, so one invoice may collect milestones of both.
CHECK_LINE = Trigger(
    name="line",
    when=pgtrigger.Before,
    operation=WRITES,
    declare=[("parent", "record")],
    func=f"""
    SELECT * INTO parent FROM engagements_invoice
        WHERE id = coalesce(OLD.invoice_id, NEW.invoice_id) FOR UPDATE;
    IF parent.state = 'issued' THEN
        {refuse("invoiceline.issued", "The lines of an issued invoice cannot be changed.")}
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF (parent.kind = 'credit_note') <> (NEW.corrects_id IS NOT NULL) OR (
        NEW.corrects_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM engagements_invoiceline original WHERE original.id = NEW.corrects_id
            AND original.invoice_id = parent.corrects_id
            AND original.milestone_id IS NOT DISTINCT FROM NEW.milestone_id)
    ) THEN
        {
        refuse(
            "invoiceline.original",
            "The lines of a credit note must correct those of the credited invoice.",
        )
    }
    END IF;
    IF NEW.corrects_id IS NOT NULL OR TG_OP = 'UPDATE' THEN
        RETURN NEW;
    END IF;
    IF parent.audit_order_id IS NOT NULL THEN
        PERFORM 1 FROM engagements_auditorder WHERE id = parent.audit_order_id FOR UPDATE;
        IF NEW.milestone_id IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM engagements_auditorder WHERE id = parent.audit_order_id
            AND state = 'accepted' AND engagement_id = parent.engagement_id
            AND price = NEW.net AND currency = parent.currency) THEN
            {refuse("invoiceline.order", "An accepted audit order is billed at its price.")}
        END IF;
        {
        billed_once(
            "audit_order_id", "invoiceline.order_once", "An order is billed by one invoice."
        )
    }
        RETURN NEW;
    END IF;
    IF parent.charge_id IS NOT NULL THEN
        PERFORM 1 FROM engagements_charge WHERE id = parent.charge_id FOR UPDATE;
        IF NEW.milestone_id IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM engagements_charge charge
            JOIN engagements_contractversion contract ON contract.id = charge.contract_version_id
            WHERE charge.id = parent.charge_id AND charge.state = 'approved'
            AND charge.engagement_id = parent.engagement_id AND charge.amount = NEW.net
            AND contract.currency = parent.currency) THEN
            {refuse("invoiceline.charge", "An approved charge is billed at its amount.")}
        END IF;
        {billed_once("charge_id", "invoiceline.charge_once", "A charge is billed by one invoice.")}
        RETURN NEW;
    END IF;
    PERFORM 1 FROM engagements_milestone WHERE id = NEW.milestone_id FOR UPDATE;
    IF NOT EXISTS (SELECT 1 FROM engagements_milestone milestone
                   JOIN engagements_contractversion contract
                     ON contract.id = milestone.contract_version_id
                   WHERE milestone.id = NEW.milestone_id
                   AND contract.engagement_id = parent.engagement_id
                   AND contract.currency = parent.currency) THEN
        {refuse("invoiceline.engagement", "An invoice bills milestones of its own engagement.")}
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_invoiceline line
        WHERE line.milestone_id = NEW.milestone_id AND line.corrects_id IS NULL AND line.net > (
            SELECT coalesce(sum(credit.net), 0) FROM engagements_invoiceline credit
            JOIN engagements_invoice note ON note.id = credit.invoice_id
            WHERE credit.corrects_id = line.id AND note.state = 'issued')
    ) THEN
        {
        refuse(
            "invoiceline.billed_once",
            "A milestone is billed by one invoice until that is credited in full.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)
