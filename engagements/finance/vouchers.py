"""The documents behind ledger entries, by which DATEV clears open items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from django.db.models import Q

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.contracts.models import ContractVersion
from engagements.ledger import chart
from engagements.ledger.datev import Voucher
from engagements.ledger.models import Entry, Leg
from engagements.payouts.overpayment_models import OverpaymentRefund

SETTLED = (Entry.Kind.SETTLEMENT_APPROVED, Entry.Kind.SETTLEMENT_VOIDED)
NOTHING = Decimal(0)


def vouchers_between(first: date, last: date) -> dict[str, Voucher]:
    """Map the subjects of entries of these dates, such as invoice:17, to their documents.

    Payments and write-offs of an invoice, its credit notes and its refunds have its number.
    """
    invoices = Invoice.objects.filter(issued_on__gte=first, issued_on__lte=last).select_related(
        "corrects", "contract_version", "audit_order", "customer"
    )
    found = {f"invoice:{row.pk}": _invoice_voucher(row) for row in invoices}
    # Payments of a closed month are posted on the day on which they were recorded.
    payments = Payment.objects.filter(
        Q(received_on__gte=first) | Q(recorded_at__date__gte=first), received_on__lte=last
    )
    refunds = OverpaymentRefund.objects.filter(proposed_at__date__lte=last)
    for noun, rows in (("payment", payments), ("overpayment_refund", refunds)):
        numbers = rows.values_list("pk", "invoice__reference")
        found |= {f"{noun}:{pk}": Voucher(number=number) for pk, number in numbers}
    losses = WriteOff.objects.filter(proposed_at__date__lte=last)
    found |= {
        f"write_off:{row.pk}": replace(_invoice_voucher(row.invoice), due_on=None)
        for row in losses.select_related(
            *("invoice__contract_version", "invoice__audit_order", "invoice__customer")
        )
    }
    return found | dict(_settlement_vouchers(first, last))


def _invoice_voucher(row: Invoice) -> Voucher:
    terms = row.terms
    is_reversed = terms.tax_treatment == ContractVersion.TaxTreatment.REVERSE_CHARGE
    buyer = (row.frozen or {}).get("buyer", {})
    return Voucher(
        number=row.corrects.reference if row.corrects else row.reference,
        second=row.reference if row.corrects else "",
        due_on=row.due_on,
        tax_rate=terms.tax_rate_percent,
        eu_vat_id=buyer.get("vat_id", row.customer.vat_id) if is_reversed else "",
    )


def _settlement_vouchers(first: date, last: date) -> Iterator[tuple[str, Voucher]]:
    """The settlements whose refunds were approved or voided, with the invoices that they clear.

    A refund becomes payable from credits on several invoices, so the open items of the engagement
    are followed from its first entry.
    """
    settled = Entry.objects.filter(kind__in=SETTLED, dated_on__gte=first, dated_on__lte=last)
    keys = set(settled.values_list("engagement", flat=True))
    numbers = _numbers(keys)
    items: dict[int, dict[str, Decimal]] = defaultdict(dict)
    refunded: dict[str, dict[str, Decimal]] = {}
    legs = Leg.objects.filter(
        account__code=chart.RECEIVABLES, engagement__in=keys, entry__is_charge=False
    )
    for key, entry, amount in legs.order_by("entry_id").values_list(
        "engagement", "entry__key", "amount"
    ):
        subject, open_items = entry.partition(":")[2], items[key]
        if not subject.startswith("settlement:"):
            number = numbers.get(subject, subject)
            open_items[number] = open_items.get(number, NOTHING) + amount
            continue
        if amount > 0:
            refunded[subject] = _credits(open_items, amount)
        for number, part in refunded.get(subject, {}).items():
            open_items[number] += part if amount > 0 else -part
    for subject, parts in refunded.items():
        yield subject, Voucher(number=subject, parts=parts)


def _credits(open_items: dict[str, Decimal], amount: Decimal) -> dict[str, Decimal]:
    """The credits that a refund of `amount` clears, by number, the oldest first."""
    parts = {}
    for number, balance in open_items.items():
        part = min(-balance, amount)
        if part > 0:
            parts[number] = part
            amount -= part
    return parts


def _numbers(engagements: set[int]) -> dict[str, str]:
    """The invoice number of every subject of these engagements that has a receivable."""
    invoices = Invoice.objects.filter(engagement__in=engagements).select_related("corrects")
    found = {f"invoice:{row.pk}": (row.corrects or row).reference for row in invoices}
    for noun, model in (
        ("payment", Payment),
        ("write_off", WriteOff),
        ("overpayment_refund", OverpaymentRefund),
    ):
        rows = model._default_manager.filter(invoice__engagement__in=engagements)
        numbers = rows.values_list("pk", "invoice__reference")
        found |= {f"{noun}:{pk}": number for pk, number in numbers}
    return found
