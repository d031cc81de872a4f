"""What settling a contract comes to."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.models import ContractVersion, Payment
from engagements.money import quantize, tax_on


@dataclass(frozen=True)
class Line:
    """One line of the account: what came in is positive, what is kept negative."""

    label: str
    amount: Decimal


@dataclass(frozen=True)
class Calculation:
    """What settling now comes to, gross, in `currency`. `refund` or `balance_due` is nothing."""

    payments_received: Decimal
    audit_cost: Decimal
    audit_tax: Decimal
    refund: Decimal
    balance_due: Decimal
    currency: str
    lines: tuple[Line, ...]


def preview(*, contract: ContractVersion) -> Calculation:
    """What a settlement of `contract` would come to if it were proposed now."""
    currency = contract.currency
    payments = list(
        Payment.objects.filter(invoice__engagement=contract.engagement_id).select_related("invoice")
    )
    received = quantize(sum((payment.amount for payment in payments), Decimal(0)), currency)
    cost = quantize(contract.audit_cost, currency)
    tax = tax_on(contract.audit_cost, contract.tax_rate_percent, currency)
    rest = received - cost - tax
    nothing = quantize(Decimal(0), currency)
    lines = [
        Line(
            f"{payment.invoice.reference}, received {payment.received_on} ({payment.reference})",
            quantize(payment.amount, currency),
        )
        for payment in payments
    ]
    lines.append(Line("Audit, kept", -cost))
    lines.append(Line(f"Tax on the audit, {contract.tax_rate_percent.normalize():f}%", -tax))
    return Calculation(
        payments_received=received,
        audit_cost=cost,
        audit_tax=tax,
        refund=max(rest, nothing),
        balance_due=max(-rest, nothing),
        currency=currency,
        lines=tuple(lines),
    )
