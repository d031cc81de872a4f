"""Payments are for invoices. What was billed by hand before gets an invoice that says so."""

from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar

import django.db.models.deletion
from babel.numbers import get_currency_precision
from django.db import migrations, models

SERIES = "HAND"
PAYMENT_DAYS = 14

PAYMENTS = """
CREATE OR REPLACE FUNCTION twofold_check_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    line record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM engagements_invoice WHERE id = NEW.invoice_id
                   AND kind = 'invoice' AND state = 'issued') THEN
        RAISE EXCEPTION 'nothing is paid that was not billed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.bank_line_id IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT * INTO line FROM engagements_bankline WHERE id = NEW.bank_line_id FOR UPDATE;
    IF line.amount < NEW.amount + (SELECT coalesce(sum(amount), 0) FROM engagements_payment
                                   WHERE bank_line_id = line.id)
        OR line.currency <> (SELECT currency FROM engagements_invoice WHERE id = NEW.invoice_id)
    THEN
        RAISE EXCEPTION 'no more is assigned than the bank says came in, in its currency'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""

# An amendment leaves what was released before with the version that released it; one invoice
# may collect milestones of both.
LINES_OF_ONE_ENGAGEMENT = """
CREATE OR REPLACE FUNCTION twofold_check_invoice_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent record;
BEGIN
    SELECT * INTO parent FROM engagements_invoice
        WHERE id = CASE TG_OP WHEN 'INSERT' THEN NEW.invoice_id ELSE OLD.invoice_id END FOR UPDATE;
    IF parent.state = 'issued' THEN
        RAISE EXCEPTION 'the lines of an issued invoice are never changed'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND (
        NEW.invoice_id <> OLD.invoice_id OR NEW.milestone_id <> OLD.milestone_id
        OR NEW.corrects_id IS DISTINCT FROM OLD.corrects_id
    ) THEN
        RAISE EXCEPTION 'a line stays on its invoice, about its milestone'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (parent.kind = 'credit_note') <> (NEW.corrects_id IS NOT NULL) OR (
        NEW.corrects_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM engagements_invoiceline original WHERE original.id = NEW.corrects_id
            AND original.invoice_id = parent.corrects_id
            AND original.milestone_id = NEW.milestone_id)
    ) THEN
        RAISE EXCEPTION 'the lines of a credit note correct those of the invoice it corrects'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.corrects_id IS NOT NULL OR TG_OP = 'UPDATE' THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM engagements_milestone WHERE id = NEW.milestone_id FOR UPDATE;
    IF NOT EXISTS (SELECT 1 FROM engagements_milestone milestone
                   JOIN engagements_contractversion contract
                     ON contract.id = milestone.contract_version_id
                   WHERE milestone.id = NEW.milestone_id
                   AND contract.engagement_id = parent.engagement_id
                   AND contract.currency = parent.currency) THEN
        RAISE EXCEPTION 'an invoice collects milestones of its own engagement'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM engagements_invoiceline line
        WHERE line.milestone_id = NEW.milestone_id AND line.corrects_id IS NULL AND line.net > (
            SELECT coalesce(sum(credit.net), 0) FROM engagements_invoiceline credit
            JOIN engagements_invoice note ON note.id = credit.invoice_id
            WHERE credit.corrects_id = line.id AND note.state = 'issued')
    ) THEN
        RAISE EXCEPTION 'a milestone stands on one invoice until that is credited in full'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


def invoice_what_was_billed(apps: Any, schema_editor: Any) -> None:
    """One issued invoice a milestone that was billed by hand, with its payments."""
    milestones = apps.get_model("engagements", "Milestone").objects
    payments = apps.get_model("engagements", "Payment").objects
    for milestone in milestones.filter(billed_at__isnull=False).order_by("billed_at", "pk"):
        payments.filter(milestone=milestone).update(invoice=_invoice(apps, milestone))
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def _invoice(apps: Any, milestone: Any) -> Any:
    models_ = {name: apps.get_model("engagements", name) for name in ("Counter", "Invoice")}
    contract, day = milestone.contract_version, milestone.billed_at.date()
    unit = Decimal(1).scaleb(-get_currency_precision(contract.currency))
    rate = contract.tax_rate_percent
    tax = (milestone.amount * rate / 100).quantize(unit, rounding=ROUND_HALF_UP)
    counter, _ = models_["Counter"].objects.get_or_create(series=SERIES, year=day.year)
    counter.last += 1
    counter.save()
    invoice = models_["Invoice"].objects.create(
        engagement=contract.engagement,
        contract_version=contract,
        customer=contract.engagement.customer,
        currency=contract.currency,
        net=milestone.amount,
        tax=tax,
        gross=milestone.amount + tax,
    )
    apps.get_model("engagements", "InvoiceLine").objects.create(
        invoice=invoice,
        position=1,
        milestone=milestone,
        title=milestone.title,
        net=milestone.amount,
        tax_rate_percent=rate,
        tax=tax,
    )
    invoice.state, invoice.series, invoice.year = "issued", SERIES, day.year
    invoice.number, invoice.reference = counter.last, f"{SERIES}-{day.year}-{counter.last:04d}"
    invoice.issued_on, invoice.issued_at = day, milestone.billed_at
    invoice.due_on = day + timedelta(days=PAYMENT_DAYS)
    invoice.frozen = {"schema": "twofold.invoice/0", "billed_as": milestone.billing_reference}
    invoice.save()
    return invoice


class Migration(migrations.Migration):
    dependencies: ClassVar = [("engagements", "0011_ledger_refusals")]

    operations: ClassVar = [
        migrations.RunSQL("DROP TRIGGER append_only ON engagements_payment", ""),
        migrations.AddField(
            model_name="payment",
            name="bank_line",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="engagements.bankline",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="invoice",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="engagements.invoice",
            ),
        ),
        migrations.RunPython(invoice_what_was_billed),
        migrations.RemoveConstraint(model_name="payment", name="payment_is_recorded_once"),
        migrations.RemoveField(model_name="payment", name="milestone"),
        migrations.AlterField(
            model_name="payment",
            name="invoice",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="engagements.invoice",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(
                fields=("invoice", "reference"),
                name="payment_is_recorded_once",
                violation_error_message="A payment with this reference is recorded already.",
            ),
        ),
        migrations.RunSQL(PAYMENTS, migrations.RunSQL.noop),
        migrations.RunSQL(LINES_OF_ONE_ENGAGEMENT, migrations.RunSQL.noop),
        migrations.RunSQL(
            "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON engagements_payment "
            "FOR EACH ROW EXECUTE FUNCTION twofold_refuse_change()",
            "",
        ),
    ]
