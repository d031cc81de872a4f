"""Aged receivables, and VAT figures by period."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Sum

from engagements.billing.balances import open_invoices
from engagements.billing.models import Invoice
from engagements.billing.write_off_models import WriteOff
from engagements.contracts.models import ContractVersion
from engagements.ledger import chart
from engagements.ledger.models import Entry, Leg
from engagements.people.models import Customer

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

NOTHING = Decimal(0)
# The last day overdue of each bucket but the last.
BUCKET_ENDS = (0, 30, 60, 90)
BUCKETS = ("Not due", "1 to 30 days", "31 to 60 days", "61 to 90 days", "Over 90 days")


@dataclass(frozen=True)
class AgedRow:
    """A customer's receivables in one currency, gross, by days overdue (see BUCKETS)."""

    customer: Customer
    currency: str
    amounts: tuple[Decimal, ...]

    @property
    def total(self) -> Decimal:
        return sum(self.amounts, NOTHING)


def aged(*, today: dt.date) -> list[AgedRow]:
    """Every customer with open invoices, by currency and name."""
    sums: dict[tuple[str, int], list[Decimal]] = {}
    customers: dict[int, Customer] = {}
    for invoice in open_invoices():
        customers[invoice.customer_id] = invoice.customer
        row = sums.setdefault((invoice.currency, invoice.customer_id), [NOTHING] * len(BUCKETS))
        row[_bucket(invoice, today)] += invoice.amount_due
    rows = [AgedRow(customers[key], unit, tuple(row)) for (unit, key), row in sums.items()]
    return sorted(rows, key=lambda row: (row.currency, row.customer.name))


def _bucket(invoice: InvoiceWithBalance, today: dt.date) -> int:
    assert invoice.due_on is not None  # open invoices are issued
    late = (today - invoice.due_on).days
    return sum(late > end for end in BUCKET_ENDS)


def totals_of(rows: Iterable[AgedRow]) -> list[tuple[str, Sequence[Decimal], Decimal]]:
    """The buckets and the total of each currency."""
    sums: dict[str, list[Decimal]] = {}
    for row in rows:
        total = sums.setdefault(row.currency, [NOTHING] * len(BUCKETS))
        sums[row.currency] = [a + b for a, b in zip(total, row.amounts, strict=True)]
    return [(currency, total, sum(total, NOTHING)) for currency, total in sorted(sums.items())]


@dataclass(frozen=True)
class VatRow:
    """Net and tax of one treatment and rate (percent) in one currency: invoices less credits."""

    currency: str
    treatment: str
    rate: Decimal
    net: Decimal
    tax: Decimal

    @property
    def label(self) -> str:
        """The treatment in words."""
        return str(ContractVersion.TaxTreatment(self.treatment).label)


@dataclass(frozen=True)
class VatCheck:
    """The tax of the documents of a period, and that of the ledger's account for it."""

    currency: str
    documents: Decimal
    ledger: Decimal

    @property
    def agrees(self) -> bool:
        return self.documents == self.ledger


def vat_figures(first: dt.date, last: dt.date) -> list[VatRow]:
    """The VAT figures of the documents dated from `first` to `last`, with bad debt."""
    sums: dict[tuple[str, str, Decimal], list[Decimal]] = {}

    def add(invoice: Invoice, net: Decimal, tax: Decimal) -> None:
        frozen = invoice.frozen or {}
        treatment = str(frozen.get("tax_treatment") or invoice.terms.tax_treatment)
        rate = Decimal(str(frozen.get("tax_rate_percent") or invoice.terms.tax_rate_percent))
        row = sums.setdefault((invoice.currency, treatment, rate), [NOTHING, NOTHING])
        row[0], row[1] = row[0] + net, row[1] + tax

    issued = Invoice.objects.filter(
        state=Invoice.State.ISSUED, issued_on__gte=first, issued_on__lte=last
    )
    for invoice in issued.select_related("contract_version", "audit_order"):
        sign = -1 if invoice.is_credit_note else 1
        add(invoice, sign * invoice.net, sign * invoice.tax)
    for loss, tax in _bad_debts(first, last):
        # The tax leg is a debit where the debt is written off, a credit where that is reversed.
        gross = loss.amount if tax > 0 else -loss.amount
        add(loss.invoice, tax - gross, -tax)
    return [VatRow(*key, *row) for key, row in sorted(sums.items())]


def _bad_debts(first: dt.date, last: dt.date) -> list[tuple[WriteOff, Decimal]]:
    """Bad debts posted or reversed in a period, with the output tax that they correct."""
    legs = Leg.objects.filter(
        account__code=chart.OUTPUT_TAX,
        entry__kind__in=(Entry.Kind.WRITTEN_OFF, Entry.Kind.WRITE_OFF_REVERSED),
        dated_on__gte=first,
        dated_on__lte=last,
    )
    taxes = [(int(key.split(":")[2]), tax) for key, tax in legs.values_list("entry__key", "amount")]
    rows = WriteOff.objects.select_related("invoice__contract_version").in_bulk(
        [pk for pk, _ in taxes]
    )
    return [(rows[pk], tax) for pk, tax in taxes]


def vat_checks(rows: Iterable[VatRow], first: dt.date, last: dt.date) -> list[VatCheck]:
    """Compare the documents' tax with the ledger's output tax of the same days."""
    documents: dict[str, Decimal] = {}
    for row in rows:
        documents[row.currency] = documents.get(row.currency, NOTHING) + row.tax
    posted = dict(
        Leg.objects.filter(account__code=chart.OUTPUT_TAX, dated_on__gte=first, dated_on__lte=last)
        .order_by()
        .values_list("currency")
        .annotate(total=Sum("amount"))
    )
    return [
        VatCheck(currency, documents.get(currency, NOTHING), -posted.get(currency, NOTHING))
        for currency in sorted({*documents, *posted})
    ]
