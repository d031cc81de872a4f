"""The chart of accounts as it is first written into the database, where finance may edit it.

Numbers are those of DATEV's SKR04. Accounts that DATEV computes tax for by itself (such as
4400) are left out: the tax is posted here, on its own account.
"""

from __future__ import annotations

from typing import NamedTuple

from engagements.ledger.models import Account

Kind = Account.Kind

BANK = "bank"
TRANSFERS = "transfers"
RECEIVABLES = "receivables"
AUDIT_UNBILLED = "audit_unbilled"
FEES_DEFERRED = "fees_deferred"
REFUND_LIABILITY = "refund_liability"
REFUND_PAYABLE = "refund_payable"
OUTPUT_TAX = "output_tax"
AUDIT_REVENUE = "audit_revenue"
FEE_REVENUE = "fee_revenue"
MOVED_PAYMENTS = "moved_payments"


class ChartLine(NamedTuple):
    """An account as it begins."""

    code: str
    name: str
    kind: Account.Kind
    datev_number: str


CHART = (
    ChartLine(BANK, "Bank", Kind.ASSET, "1800"),
    ChartLine(TRANSFERS, "Refunds under way", Kind.ASSET, "1460"),
    ChartLine(RECEIVABLES, "Receivables from customers", Kind.ASSET, "1200"),
    ChartLine(AUDIT_UNBILLED, "Audits delivered, not billed", Kind.ASSET, "1300"),
    ChartLine(FEES_DEFERRED, "Fees billed, not received", Kind.LIABILITY, "3900"),
    ChartLine(REFUND_LIABILITY, "Fees received that might go back", Kind.LIABILITY, "3250"),
    ChartLine(REFUND_PAYABLE, "Refunds agreed, not paid", Kind.LIABILITY, "3500"),
    ChartLine(OUTPUT_TAX, "Tax on invoices", Kind.LIABILITY, "3800"),
    ChartLine(AUDIT_REVENUE, "Revenue from audits", Kind.REVENUE, "4210"),
    ChartLine(FEE_REVENUE, "Revenue from fees", Kind.REVENUE, "4200"),
    # Comes to nothing over all engagements: what leaves one arrives at another.
    ChartLine(MOVED_PAYMENTS, "Overpayments put to other invoices", Kind.ASSET, "1370"),
)


def write_missing() -> None:
    """Write the accounts that the database does not have yet; what is there stays as it is."""
    Account.objects.bulk_create(
        (
            Account(position=position, **line._asdict())
            for position, line in enumerate(CHART, start=1)
        ),
        ignore_conflicts=True,
    )
