"""The initial chart of accounts, which finance may edit in the database.

Numbers are DATEV's SKR04, without the accounts for which DATEV computes tax by itself, such as
4400: tax is posted to an account of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from engagements.ledger.models import Account

Kind = Account.Kind

BANK = "bank"
SUSPENSE = "suspense"
OUTSIDE = "outside"
TRANSFERS = "transfers"
RECEIVABLES = "receivables"
AUDIT_UNBILLED = "audit_unbilled"
FEES_UNBILLED = "fees_unbilled"
FEES_DEFERRED = "fees_deferred"
REFUND_LIABILITY = "refund_liability"
REFUND_PAYABLE = "refund_payable"
OUTPUT_TAX = "output_tax"
AUDIT_REVENUE = "audit_revenue"
FEE_REVENUE = "fee_revenue"
CHARGE_REVENUE = "charge_revenue"
MOVED_PAYMENTS = "moved_payments"
EXCHANGE_POSITION = "exchange_position"
WITHHOLDING = "withholding_tax"
BANK_CHARGES = "bank_charges"
EXCHANGE = "exchange_differences"
BAD_DEBT = "bad_debt"


class ChartLine(NamedTuple):
    """An account of the initial chart."""

    code: str
    name: str
    kind: Account.Kind
    datev_number: str


CHART = (
    ChartLine(BANK, "Bank", Kind.ASSET, "1800"),
    # Debit: payments recorded before a bank statement shows them. Credit: unassigned bank lines.
    ChartLine(SUSPENSE, "Suspense: bank lines and payments to match", Kind.ASSET, "3630"),
    # The tax adviser books these bank lines: rent, wages, the bank's own charges.
    ChartLine(OUTSIDE, "Bank lines set aside", Kind.ASSET, "3631"),
    ChartLine(TRANSFERS, "Refunds in transit", Kind.ASSET, "1460"),
    ChartLine(RECEIVABLES, "Trade receivables", Kind.ASSET, "1200"),
    ChartLine(AUDIT_UNBILLED, "Audits delivered, unbilled", Kind.ASSET, "1300"),
    ChartLine(FEES_UNBILLED, "Fees earned, unbilled", Kind.ASSET, "1305"),
    ChartLine(FEES_DEFERRED, "Fees billed, unpaid", Kind.LIABILITY, "3900"),
    ChartLine(REFUND_LIABILITY, "Refund liability", Kind.LIABILITY, "3250"),
    ChartLine(REFUND_PAYABLE, "Refunds payable", Kind.LIABILITY, "3500"),
    ChartLine(OUTPUT_TAX, "Output VAT", Kind.LIABILITY, "3800"),
    ChartLine(AUDIT_REVENUE, "Audit revenue", Kind.REVENUE, "4210"),
    ChartLine(FEE_REVENUE, "Fee revenue", Kind.REVENUE, "4200"),
    # Repeats, maintenance and terminations: beside the fee.
    ChartLine(CHARGE_REVENUE, "Revenue of charges", Kind.REVENUE, "4220"),
    # Zero over all engagements: each move debits one and credits another.
    ChartLine(MOVED_PAYMENTS, "Overpayments moved between invoices", Kind.ASSET, "1370"),
    # Payments in another currency than their invoice: one currency against the other.
    ChartLine(EXCHANGE_POSITION, "Currency exchange", Kind.ASSET, "3632"),
    ChartLine(WITHHOLDING, "Withholding tax to reclaim", Kind.ASSET, "1450"),
    ChartLine(BANK_CHARGES, "Bank charges", Kind.EXPENSE, "6855"),
    ChartLine(EXCHANGE, "Exchange differences", Kind.EXPENSE, "6880"),
    ChartLine(BAD_DEBT, "Bad debt", Kind.EXPENSE, "6930"),
)


# The numbers of DATEV's SKR03 for the same accounts.
SKR03 = {
    BANK: "1200",
    SUSPENSE: "1792",
    OUTSIDE: "1793",
    TRANSFERS: "1360",
    RECEIVABLES: "1400",
    AUDIT_UNBILLED: "1500",
    FEES_UNBILLED: "1505",
    FEES_DEFERRED: "0990",
    REFUND_LIABILITY: "1710",
    REFUND_PAYABLE: "1700",
    OUTPUT_TAX: "1770",
    AUDIT_REVENUE: "8210",
    FEE_REVENUE: "8200",
    CHARGE_REVENUE: "8220",
    MOVED_PAYMENTS: "1590",
    EXCHANGE_POSITION: "1794",
    WITHHOLDING: "1549",
    BANK_CHARGES: "4970",
    EXCHANGE: "2150",
    BAD_DEBT: "2400",
}


def write_missing() -> None:
    """Create the missing accounts; existing ones stay as edited."""
    Account.objects.bulk_create(
        (
            Account(position=position, **line._asdict())
            for position, line in enumerate(CHART, start=1)
        ),
        ignore_conflicts=True,
    )
