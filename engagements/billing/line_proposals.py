"""Propose the invoices that bank lines pay, by the numbers in their texts or by their amounts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from django.apps import apps
from django.db.models import Q
from django.db.models.functions import Upper

from engagements.billing import payments
from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.bank_models import BankLine
from engagements.billing.payment_models import Payment
from engagements.engagement.models import Stage

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

# An invoice number as printed, or with other separators or none.
NUMBER = re.compile(r"(?<![A-Z])(INV|HAND)[\s\-_./]*(\d{4})[\s\-_./]*(\d{4,})(?!\d)")
ENDED = (Stage.CLOSED, Stage.CANCELLED)


class Match(StrEnum):
    """How a line's amount compares with the open amounts of the invoices it quotes."""

    EXACT = "exact"
    PART = "part"
    OVER = "over"
    BY_AMOUNT = "by_amount"
    NONE = "none"


@dataclass(frozen=True)
class Proposal:
    """The invoices that a line would pay, with an amount each. `reason` when there are none."""

    line: BankLine
    match: Match
    parts: tuple[tuple[InvoiceWithBalance, Decimal], ...] = ()
    reason: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the payer quoted the invoices; only these are recorded in bulk."""
        return self.match in (Match.EXACT, Match.PART, Match.OVER)


def proposals(lines: Iterable[BankLine]) -> list[Proposal]:
    """Propose invoices for open lines, in order: two lines that quote one invoice share it."""
    rows = list(lines)
    quoted = {line.pk: quoted_numbers(line.text) for line in rows}
    wanted = {number for numbers in quoted.values() for _, _, number in numbers}
    by_number = {
        (row.series, row.year, row.number): row
        for row in issued_invoices().filter(number__in=wanted)
    }
    waiting = list(open_invoices())
    remaining: dict[int, Decimal] = {}
    refunds = own_refund_ids(rows)
    keyed = payments.unconfirmed(Payment.objects.filter(invoice__in=by_number.values()))
    by_hand = {(row.invoice_id, row.amount): row.reference for row in keyed}
    return [
        Proposal(line, Match.NONE, reason=reason)
        if (reason := _other_reason(line, refunds))
        else _proposal(
            line,
            [by_number[n] for n in quoted[line.pk] if n in by_number],
            waiting,
            remaining,
            by_hand,
        )
        for line in rows
    ]


def own_refund_ids(lines: Iterable[BankLine]) -> frozenset[str]:
    """The end-to-end ids of these lines, in capitals, that our own refunds have."""
    wanted = {line.end_to_end_id.upper() for line in lines if line.end_to_end_id}
    if not wanted:
        return frozenset()
    # By name: payouts are above billing.
    transfers = apps.get_model("engagements", "Transfer")._default_manager
    return frozenset(
        {
            *transfers.annotate(id_upper=Upper("end_to_end_id"))
            .filter(id_upper__in=wanted)
            .values_list("id_upper", flat=True),
            *Payment.objects.filter(kind=Payment.Kind.PAID_BACK)
            .annotate(id_upper=Upper("reference"))
            .filter(id_upper__in=wanted)
            .values_list("id_upper", flat=True),
        }
    )


def _other_reason(line: BankLine, refunds: frozenset[str]) -> str:
    """The reason why a line cannot be a customer's payment; empty if it can."""
    if line.end_to_end_id.upper() in refunds:
        return "One of our refunds has this end-to-end id."
    if not line.is_credit:
        return "Outgoing money that matches no refund of ours."
    return "The bank marks it as the reversal of a debit." if line.is_reversal else ""


def quoted_numbers(text: str) -> list[tuple[str, int, int]]:
    """Return the distinct invoice numbers in a text as (series, year, number).

    Banks break lines anywhere, so the text is searched with and without its spaces.
    """
    upper = text.upper()
    for version in (upper, re.sub(r"\s", "", upper)):
        found = [(series, int(year), int(n)) for series, year, n in NUMBER.findall(version)]
        if found:
            return list(dict.fromkeys(found))
    return []


def _proposal(
    line: BankLine,
    quoted: list[InvoiceWithBalance],
    waiting: list[InvoiceWithBalance],
    remaining: dict[int, Decimal],
    by_hand: dict[tuple[int, Decimal], str],
) -> Proposal:
    if not quoted:
        return _by_amount(line, waiting)
    other = next((row for row in quoted if row.currency != line.currency), None)
    if other:
        return Proposal(line, Match.NONE, reason=f"{other.reference} is in {other.currency}.")
    keyed = [reference for row in quoted if (reference := by_hand.get((row.pk, line.amount)))]
    if keyed:
        reason = f"Keyed by hand as {keyed[0]}: open the line to confirm it."
        return Proposal(line, Match.NONE, reason=reason)
    rest, parts = line.amount, []
    for row in quoted:
        due = remaining.get(row.pk, row.amount_due if row.offset else row.open_amount)
        part = rest if row is quoted[-1] else min(rest, max(due, Decimal(0)))
        remaining[row.pk] = due - part
        rest -= part
        if part > 0:
            parts.append((row, part))
    over = any(remaining[row.pk] < 0 for row in quoted)
    under = any(remaining[row.pk] > 0 for row in quoted)
    match = Match.OVER if over else Match.PART if under else Match.EXACT
    return Proposal(line, match, tuple(parts))


def _by_amount(line: BankLine, waiting: list[InvoiceWithBalance]) -> Proposal:
    """Propose the only open invoice over exactly this amount."""
    same = [r for r in waiting if (r.currency, r.amount_due) == (line.currency, line.amount)]
    if len(same) == 1:
        return Proposal(line, Match.BY_AMOUNT, ((same[0], line.amount),))
    return Proposal(line, Match.NONE, reason="No invoice number in the text.")


def assignable_invoices(line: BankLine) -> list[InvoiceWithBalance]:
    """Invoices in the line's currency, open ones first.

    Invoices of ended engagements only where the payer quoted them.
    """
    quoted = {number for _, _, number in quoted_numbers(line.text)}
    relevant = ~Q(engagement__stage__in=ENDED) | Q(number__in=quoted)
    rows = issued_invoices().filter(relevant, currency=line.currency)
    return sorted(rows.order_by("due_on", "pk"), key=lambda row: row.amount_due <= 0)
