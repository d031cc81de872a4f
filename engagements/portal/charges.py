"""Charges for the customer: what each is for, and whether its invoice is paid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Prefetch

from engagements.billing.balances import issued_invoices
from engagements.charges.models import Charge
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.engagement.models import Engagement

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

Kind = Charge.Kind


@dataclass(frozen=True)
class ChargeRow:
    """A charge with its text and status. `badge` is the state that sets the badge's colour."""

    charge: Charge
    text: str
    badge: str
    label: str
    note: str
    open_amount: Decimal

    @property
    def is_in_force(self) -> bool:
        """Whether it was not cancelled."""
        return self.charge.state == Charge.State.APPROVED


def charges_of(engagements: Sequence[Engagement]) -> dict[int, list[ChargeRow]]:
    """The approved and cancelled charges by engagement, the oldest first."""
    invoices = Prefetch("invoices", queryset=issued_invoices().order_by("pk"), to_attr="issued")
    rows = (
        Charge.objects.filter(
            engagement__in=engagements, state__in=(Charge.State.APPROVED, Charge.State.CANCELLED)
        )
        .select_related("contract_version")
        .prefetch_related(invoices)
        .order_by("decided_at", "pk")
    )
    found: dict[int, list[ChargeRow]] = defaultdict(list)
    for row in rows:
        found[row.engagement_id].append(_row(row))
    return found


def _row(charge: Charge) -> ChargeRow:
    issued: list[InvoiceWithBalance] = getattr(charge, "issued", [])
    text, invoice = _text(charge), issued[-1] if issued else None
    if charge.state == Charge.State.CANCELLED:
        note = f"Cancelled: nothing is due. {charge.end_reason}"
        return ChargeRow(charge, text, "void", "Cancelled", note, Decimal(0))
    if charge.amount == 0:
        return ChargeRow(charge, text, "paid", "Nothing due", "Nothing more is due.", Decimal(0))
    if invoice is None or invoice.credited >= invoice.gross:
        note = "The invoice follows."
        return ChargeRow(charge, text, "pending", "To be invoiced", note, Decimal(0))
    due = invoice.amount_due
    if due > 0:
        shown = format_money(due, invoice.currency)
        note = f"Invoice {invoice.reference}: {shown} is due."
        return ChargeRow(charge, text, "unknown", "Open", note, due)
    return ChargeRow(charge, text, "paid", "Paid", f"Invoice {invoice.reference}, paid.", due)


def _text(charge: Charge) -> str:
    if charge.kind == Kind.REPEAT:
        return "The repeat of a disputed acceptance run, whose cost you bear by its result."
    if charge.month is not None:
        return f"Maintenance of your kernel in {charge.month:%B %Y}."
    contract = charge.contract_version
    assert charge.ends_on is not None
    assert charge.released is not None  # a constraint
    who = "You ended" if charge.kind == Kind.CONVENIENCE else "We ended"
    released = format_money(charge.released, contract.currency)
    amount = format_money(charge.amount, contract.currency)
    return (
        f"{who} the contract with effect from {in_words(charge.ends_on)}. {released} of the fee "
        f"was due before; {amount} more is due for {charge.elapsed_days} of {charge.all_days} days "
        "of the time-box, both without tax."
    )
