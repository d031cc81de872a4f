"""Limit write-offs to the open amount of their invoice."""

import pgtrigger

from benchmarks.triggers import Trigger, refuse

CHECK_WRITE_OFF = Trigger(
    name="open_amount",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__state="posted", old__state="proposed"),
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
