"""Limit write-offs to the open amount of their invoice, and those of one person."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

_POSTED = pgtrigger.Q(new__state="posted", old__state="proposed")

CHECK_WRITE_OFF = Trigger(
    name="open_amount",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    condition=_POSTED,
    declare=[("invoice", "record")],
    func=f"""
    SELECT * INTO invoice FROM engagements_invoice WHERE id = NEW.invoice_id;
    PERFORM 1 FROM engagements_engagement WHERE id = invoice.engagement_id FOR NO KEY UPDATE;
    IF NEW.amount > 0 AND 0 > (
        SELECT open_amount FROM engagements_invoicebalance WHERE invoice_id = NEW.invoice_id
    ) THEN
        {refuse("writeoff.open_amount", "Only the open amount of an invoice is written off.")}
    END IF;
    RETURN NULL;
    """,
)

# All that one person wrote off of an invoice, in however many parts.
LIMIT_ONE_PERSON = Trigger(
    name="limit",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    condition=_POSTED & pgtrigger.Q(new__approved_by__isnull=True),
    func=f"""
    IF NEW."limit" < (
        SELECT sum(abs(amount)) FROM engagements_writeoff
        WHERE invoice_id = NEW.invoice_id AND state = 'posted' AND approved_by_id IS NULL
    ) THEN
        {refuse("writeoff.limit", "Another person approves write-offs above the limit.")}
    END IF;
    RETURN NULL;
    """,
)
