"""Invariants of an engagement's data after every step, checked in plain SQL.

Nothing here uses the application, which could repeat its own mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import connection

BOOKS = """
SELECT
  (SELECT coalesce(sum(amount), 0) FROM engagements_leg),
  (SELECT coalesce(sum(debit - credit), 0) FROM engagements_monthtotal),
  (SELECT count(*) FROM engagements_entry entry WHERE leg_count <>
     (SELECT count(*) FROM engagements_leg WHERE entry_id = entry.id)),
  (SELECT coalesce(sum(amount), 0) FROM engagements_payment),
  (SELECT coalesce(sum(amount), 0) FROM engagements_transfer WHERE outcome = ''),
  (SELECT coalesce(sum(amount), 0) FROM engagements_transfer WHERE outcome = 'paid'),
  (SELECT coalesce(sum(amount), 0) FROM engagements_leg JOIN engagements_account account
     ON account.id = account_id WHERE account.code IN ('bank', 'suspense', 'outside')),
  (SELECT coalesce(sum(amount), 0) FROM engagements_leg JOIN engagements_account account
     ON account.id = account_id
     WHERE account.code IN ('receivables', 'refund_payable')),
  (SELECT coalesce(sum(CASE kind WHEN 'invoice' THEN gross ELSE -gross END), 0)
     FROM engagements_invoice WHERE state = 'issued'),
  (SELECT coalesce(sum(CASE kind WHEN 'invoice' THEN tax ELSE -tax END), 0)
     FROM engagements_invoice WHERE state = 'issued'),
  (SELECT coalesce(sum(amount), 0) FROM engagements_payback WHERE state = 'paying'),
  (SELECT coalesce(sum(amount), 0) FROM engagements_payment WHERE kind = 'moved'),
  (SELECT coalesce(sum(amount), 0) FROM engagements_leg JOIN engagements_account account
     ON account.id = account_id WHERE account.code = 'moved_payments'),
  (SELECT count(*) FROM engagements_invoice invoice WHERE
     (SELECT coalesce(sum(amount), 0) FROM engagements_payment
      WHERE invoice_id = invoice.id AND kind <> 'reversed') < 0),
  (SELECT coalesce(-sum(amount), 0) FROM engagements_payment WHERE kind = 'reversed'),
  (SELECT coalesce(sum(amount), 0) FROM engagements_writeoff WHERE state = 'posted')
"""

# By currency: the ledger's bank account, and the lines of all statements.
BANK = """
SELECT currency, sum(ledger), sum(lines) FROM (
  SELECT leg.currency, amount AS ledger, 0 AS lines FROM engagements_leg leg
    JOIN engagements_account account ON account.id = account_id AND account.code = 'bank'
  UNION ALL SELECT currency, 0, amount FROM engagements_bankline
) sides GROUP BY currency HAVING sum(ledger) <> sum(lines)
"""

# What relies on a line of a CSV that no second person confirmed.
UNCONFIRMED = """
SELECT used.name, line.id FROM (
  SELECT 'payment' AS name, bank_line_id AS line_id FROM engagements_payment
  UNION ALL SELECT 'confirmation', bank_line_id FROM engagements_paymentconfirmation
  UNION ALL SELECT 'reversal', bank_line_id FROM engagements_paymentreversal
  UNION ALL SELECT 'match', line_id FROM engagements_transfermatch
) used JOIN engagements_bankline line ON line.id = used.line_id
JOIN engagements_bankimport file ON file.id = line.bank_import_id AND file.format = 'csv'
LEFT JOIN engagements_bankimportconfirmation confirmation ON confirmation.bank_import_id = file.id
WHERE confirmation.id IS NULL OR confirmation.confirmed_by_id = file.imported_by_id
"""

UNBALANCED_BUT_CLOSED = """
SELECT engagement.reference, account.code, sum(leg.amount)
FROM engagements_engagement engagement
JOIN engagements_leg leg ON leg.engagement_id = engagement.id
JOIN engagements_account account ON account.id = leg.account_id
WHERE engagement.stage = 'closed' AND account.code IN (
  'receivables', 'transfers', 'audit_unbilled', 'fees_unbilled', 'fees_deferred',
  'refund_liability', 'refund_payable')
GROUP BY engagement.id, account.id, leg.currency HAVING sum(leg.amount) <> 0
"""

NUMBERS = """
SELECT counter.series, counter.year, counter.last, count(invoice.id), max(invoice.number)
FROM engagements_counter counter LEFT JOIN engagements_invoice invoice
  ON invoice.series = counter.series AND invoice.year = counter.year AND invoice.state = 'issued'
GROUP BY counter.id
"""

SETTLEMENTS = """
SELECT contract.engagement_id, settlement.state, payments_received, refunded_before,
       settlement.audit_cost, audit_tax, refund, balance_due
FROM engagements_settlement settlement
JOIN engagements_contractversion contract ON contract.id = contract_version_id
ORDER BY settlement.id
"""

# One line a row that must stay as it is, with what it says.
SEALED = """
SELECT 'invoice ' || id, md5(row::text) FROM engagements_invoice row WHERE state = 'issued'
UNION ALL
SELECT 'line ' || row.id, md5(row::text) FROM engagements_invoiceline row
  JOIN engagements_invoice invoice ON invoice.id = invoice_id AND invoice.state = 'issued'
UNION ALL
SELECT 'contract ' || id, md5((to_jsonb(row) - 'state')::text)
  FROM engagements_contractversion row WHERE sealed_at IS NOT NULL
UNION ALL
SELECT 'acceptance ' || id, md5(row::text) FROM engagements_acceptance row
UNION ALL
SELECT 'payment ' || id, md5(row::text) FROM engagements_payment row
UNION ALL
SELECT 'paid back ' || id, md5(row::text) FROM engagements_payback row
  WHERE state IN ('failed', 'voided')
UNION ALL
SELECT 'entry ' || id, md5(row::text) FROM engagements_entry row
UNION ALL
SELECT 'leg ' || id, md5(row::text) FROM engagements_leg row
UNION ALL
SELECT 'closed ' || row.id, md5(row::text) FROM engagements_periodtotal row
UNION ALL
SELECT 'settled ' || id, md5((to_jsonb(row)
    -- The bank may return what was paid, and what failed may be voided.
    - 'state' - 'paid_by_id' - 'paid_at' - 'payment_reference'
    - 'voided_by_id' - 'void_reason')::text)
  FROM engagements_settlement row WHERE state IN ('paid', 'failed', 'voided')
"""

CLOSED = """
SELECT period.month, total.account_id, total.currency, total.debit - total.credit,
  (SELECT coalesce(sum(amount), 0) FROM engagements_leg leg
   WHERE leg.account_id = total.account_id AND leg.currency = total.currency
     AND leg.dated_on < period.month + interval '1 month'
     AND leg.dated_on >= coalesce((SELECT max(month) + interval '1 month'
       FROM engagements_period WHERE state = 'closed' AND month < period.month), '-infinity'))
FROM engagements_period period JOIN engagements_periodtotal total ON total.period_id = period.id
WHERE period.state = 'closed'
"""


MET = """
SELECT engagement.reference,
    coalesce(sum(leg.amount) FILTER (WHERE account.code = 'fees_deferred'), 0),
    coalesce(sum(leg.amount) FILTER (WHERE account.code = 'refund_liability'), 0),
    coalesce(sum(leg.amount) FILTER (
        WHERE account.code IN ('fees_unbilled', 'audit_unbilled')), 0),
    (SELECT coalesce(sum(milestone.amount), 0) FROM engagements_milestone milestone
     JOIN engagements_contractversion contract ON contract.id = milestone.contract_version_id
     WHERE contract.engagement_id = engagement.id
       AND contract.state IN ('accepted', 'superseded')
       AND milestone.state IN ('pending', 'released'))
FROM engagements_engagement engagement
JOIN engagements_leg leg ON leg.engagement_id = engagement.id
JOIN engagements_account account ON account.id = leg.account_id
WHERE EXISTS (SELECT 1 FROM engagements_event event
              WHERE event.engagement_id = engagement.id
              AND event.verb IN ('engagement.met', 'engagement.terminated'))
GROUP BY engagement.id
"""


# By currency: the revenue of charges in the ledger, and on their invoices and credit notes.
CHARGED = """
SELECT currency, sum(ledger), sum(billed) FROM (
  SELECT leg.currency, -amount AS ledger, 0 AS billed FROM engagements_leg leg
    JOIN engagements_account account ON account.id = account_id AND account.code = 'charge_revenue'
  UNION ALL SELECT currency, 0, CASE kind WHEN 'invoice' THEN net ELSE -net END
    FROM engagements_invoice WHERE state = 'issued' AND charge_id IS NOT NULL
) sides GROUP BY currency HAVING sum(ledger) <> sum(billed)
"""


@dataclass
class SealedRows:
    """What was seen before, and has to be there still."""

    sealed: dict[str, str] = field(default_factory=dict)


def check_invariants(kept: SealedRows) -> None:
    """Assert everything. `kept` grows by what is sealed now."""
    _books_add_up()
    assert _rows(BANK) == [], "the ledger's bank account is the sum of the bank's lines"
    assert _rows(UNCONFIRMED) == [], "two people vouch for a CSV before its lines are used"
    assert _rows(CHARGED) == [], "charges are revenue as billed, and nothing else is"
    assert _rows(UNBALANCED_BUT_CLOSED) == [], "nothing is closed with an open balance"
    _numbers_have_no_gap()
    _what_goes_back_and_what_is_kept_came_in()
    _what_is_sealed_stays(kept)
    _closed_months_stay()
    _a_met_fee_is_revenue()


def _rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def _books_add_up() -> None:
    (row,) = _rows(BOOKS)
    (
        legs,
        totals,
        wanting,
        received,
        under_way,
        paid,
        bank,
        owed,
        billed,
        _tax,
        back,
        *moved,
        undone,
        lost,
    ) = row
    assert legs == 0, "the ledger adds up to nothing"
    assert totals == 0, "and so do its totals"
    assert wanting == 0, "every entry has the legs that it was written with"
    # A payment that the bank takes back is gone, whatever was refunded before.
    assert under_way + paid <= received + undone, "no more goes back than came in"
    assert bank == received + back - paid, (
        "bank and suspense hold what came in less what went back and has arrived"
    )
    assert bank + undone >= 0
    assert moved == [0, 0, 0], "what leaves an invoice arrives at another, and was there"
    assert owed == billed - received - lost + under_way + paid, (
        "customers owe what was billed and neither came in nor was written off, and are owed "
        "what has not gone back"
    )


def _numbers_have_no_gap() -> None:
    for series, year, last, count, highest in _rows(NUMBERS):
        assert last == count == (highest or 0), f"{series} of {year} has a gap"


def _what_goes_back_and_what_is_kept_came_in() -> None:
    for engagement, state, received, before, cost, tax, refund, due in _rows(SETTLEMENTS):
        kept = cost + tax - due
        assert refund >= 0
        assert due >= 0
        assert refund == 0 or due == 0, "nobody pays and is paid"
        if kept >= 0:
            assert received == before + refund + kept, f"{engagement} {state}"
        else:
            # More went back before than is left to keep: nothing further does.
            assert refund == 0


def _what_is_sealed_stays(kept: SealedRows) -> None:
    now = dict(_rows(SEALED))
    changed = {name for name, digest in kept.sealed.items() if now.get(name) != digest}
    assert changed == set(), "what is sealed never changes"
    kept.sealed = now


def _closed_months_stay() -> None:
    for month, account, currency, total, legs in _rows(CLOSED):
        assert total == legs, f"{account} {currency} moved in the closed {month}"


def _a_met_fee_is_revenue() -> None:
    for reference, deferred, liability, unbilled, milestones in _rows(MET):
        assert deferred == liability == 0, f"{reference}: the fee is revenue once it is earned"
        assert 0 <= unbilled <= milestones, f"{reference}: what is unbilled can be billed"


def came_in_less_what_went_back() -> Decimal:
    """What the house holds of all customers' money."""
    (row,) = _rows(BOOKS)
    return Decimal(row[3]) - Decimal(row[4]) - Decimal(row[5])
