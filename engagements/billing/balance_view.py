"""The view behind `InvoiceBalance`, which the initial migration creates.

No settlement counts the invoice of a charge. The figures build on one another: a query that wrote
out each of them in full, 26,000 characters, took 70 ms to plan.
"""

# Sums of their own are computed once for a row, however many figures read them; the planner would
# copy anything less. OFFSET 0 does the same for other queries.
CREATE_VIEW = """
CREATE VIEW engagements_invoicebalance AS
WITH opened AS NOT MATERIALIZED (
    SELECT invoice.id, invoice.engagement_id, invoice.charge_id, invoice.kind, invoice.state,
        invoice.issued_at,
        notes.credited, payments.received, losses.written_off,
        invoice.gross - notes.credited - payments.received - losses.written_off AS open_amount
    FROM engagements_invoice invoice
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(note.gross), 0) AS credited FROM engagements_invoice note
        WHERE note.corrects_id = invoice.id AND note.state = 'issued'
    ) notes
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(payment.amount), 0) AS received FROM engagements_payment payment
        WHERE payment.invoice_id = invoice.id
    ) payments
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(loss.amount), 0) AS written_off FROM engagements_writeoff loss
        WHERE loss.invoice_id = invoice.id AND loss.state = 'posted'
    ) losses
)
SELECT opened.id AS invoice_id, credited, received, written_off, open_amount,
    due_after_settlement, amount_due,
    CASE WHEN is_held THEN 0 ELSE waits - amount_due END AS "offset",
    CASE WHEN is_held THEN open_amount ELSE amount_due END AS max_payment,
    is_held,
    (due_after_settlement IS NOT NULL OR is_proposed) AND amount_due = 0 AND NOT is_held
        AND open_amount <> 0 AS is_settled
FROM opened
-- What is kept, less all that came in and did not go back; and what was credited after the
-- settlement is not asked for either.
LEFT JOIN LATERAL (
    SELECT CASE WHEN settlement.overturned_at IS NULL
            THEN least(settlement.audit_cost + settlement.audit_tax, billed) ELSE billed END
            + went_back - came_in - lost
        AS due_after_settlement
    FROM engagements_settlement settlement
    JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE kind WHEN 'invoice' THEN gross ELSE -gross END), 0) AS billed
        FROM engagements_invoice issued
        WHERE issued.engagement_id = contract.engagement_id AND issued.state = 'issued'
            AND issued.charge_id IS NULL
    ) invoices
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(payment.amount), 0) AS came_in FROM engagements_payment payment
        JOIN engagements_invoice paid ON paid.id = payment.invoice_id
        WHERE paid.engagement_id = contract.engagement_id AND paid.charge_id IS NULL
    ) payments
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(loss.amount), 0) AS lost FROM engagements_writeoff loss
        JOIN engagements_invoice short ON short.id = loss.invoice_id
        WHERE short.engagement_id = contract.engagement_id AND loss.state = 'posted'
            AND short.charge_id IS NULL
    ) losses
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(gone.refund), 0) AS went_back FROM engagements_settlement gone
        JOIN engagements_contractversion settled ON settled.id = gone.contract_version_id
        WHERE settled.engagement_id = contract.engagement_id AND gone.state IN ('paying', 'paid')
    ) refunds
    WHERE contract.engagement_id = opened.engagement_id AND opened.charge_id IS NULL
        AND settlement.state IN ('approved', 'paying', 'paid', 'failed')
    ORDER BY settlement.id DESC LIMIT 1
) agreed ON true
CROSS JOIN LATERAL (
    SELECT greatest(open_amount, 0) AS waits, EXISTS (
        SELECT FROM engagements_settlement settlement
        JOIN engagements_contractversion contract ON contract.id = settlement.contract_version_id
        WHERE contract.engagement_id = opened.engagement_id AND settlement.state = 'proposed'
            AND opened.charge_id IS NULL
    ) AS is_proposed OFFSET 0
) proposals
CROSS JOIN LATERAL (SELECT is_proposed AND open_amount > 0 AS is_held OFFSET 0) holds
-- What is left due goes first to the invoices issued earlier, so that one which follows changes
-- nothing of what they asked for.
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN is_held THEN 0
        WHEN due_after_settlement IS NULL THEN waits
        ELSE greatest(least(waits, due_after_settlement - coalesce((
            SELECT sum(greatest(earlier.open_amount, 0)) FROM opened earlier
            WHERE earlier.engagement_id = opened.engagement_id
                AND earlier.kind = 'invoice' AND earlier.state = 'issued'
                AND earlier.charge_id IS NULL
                AND (earlier.issued_at, earlier.id) < (opened.issued_at, opened.id)
        ), 0)), 0)
    END AS amount_due OFFSET 0
) asks
"""
REMOVE_VIEW = "DROP VIEW engagements_invoicebalance"
