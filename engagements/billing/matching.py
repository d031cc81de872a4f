"""Which invoices money that came in is meant for, by the number that the payer quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Q

from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.payment_models import BankLine
from engagements.engagement.models import Stage

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

# As printed, or with other marks or none between its parts.
NUMBER = re.compile(r"(?<![A-Z])(INV|HAND)[\s\-_./]*(\d{4})[\s\-_./]*(\d{4,})(?!\d)")
ENDED = (Stage.CLOSED, Stage.CANCELLED)


class Fit(StrEnum):
    """How an amount compares with what is open of the invoices that it names."""

    EXACT = "exact"
    PART = "part"
    OVER = "over"
    GUESS = "guess"
    NONE = "none"


@dataclass(frozen=True)
class Proposal:
    """Where a line's money would go: all of it, in parts. A guess is for a person to confirm."""

    line: BankLine
    fit: Fit
    parts: tuple[tuple[InvoiceWithBalance, Decimal], ...] = ()
    why_not: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the payer said so: these are recorded together."""
        return self.fit in (Fit.EXACT, Fit.PART, Fit.OVER)


def proposals(lines: Iterable[BankLine]) -> list[Proposal]:
    """A proposal for each open line, with two queries for all of them.

    Lines are taken in their order, so that two that quote the same invoice do not both fill it.
    """
    rows = list(lines)
    quoted = {line.pk: quoted_numbers(line.text) for line in rows}
    wanted = {number for numbers in quoted.values() for number in numbers}
    by_number = {
        (row.series, row.year, row.number): row
        for row in issued_invoices().filter(number__in={number for _, _, number in wanted})
    }
    waiting = list(open_invoices())
    left: dict[int, Decimal] = {}
    return [
        _proposal(line, [by_number[n] for n in quoted[line.pk] if n in by_number], waiting, left)
        for line in rows
    ]


def quoted_numbers(text: str) -> list[tuple[str, int, int]]:
    """The numbers of invoices in a text, each once: (series, year, number).

    Banks break lines anywhere, so the text is read with and without its spaces.
    """
    found: dict[tuple[str, int, int], None] = {}
    upper = text.upper()
    for version in (upper, re.sub(r"\s", "", upper)):
        for series, year, number in NUMBER.findall(version):
            found[series, int(year), int(number)] = None
        if found:
            break
    return list(found)


def _proposal(
    line: BankLine,
    named: list[InvoiceWithBalance],
    waiting: list[InvoiceWithBalance],
    left: dict[int, Decimal],
) -> Proposal:
    if not named:
        return _guess(line, waiting)
    wrong = next((row for row in named if row.currency != line.currency), None)
    if wrong:
        return Proposal(line, Fit.NONE, why_not=f"{wrong.reference} is in {wrong.currency}.")
    rest, parts = line.amount, []
    for row in named:
        open_amount = left.get(row.pk, row.amount_due if row.offset else row.open_amount)
        part = min(rest, max(open_amount, Decimal(0)))
        if row is named[-1]:
            part = rest
        left[row.pk] = open_amount - part
        rest -= part
        if part > 0:
            parts.append((row, part))
    over = any(left[row.pk] < 0 for row in named)
    under = any(left[row.pk] > 0 for row in named)
    fit = Fit.OVER if over else Fit.PART if under else Fit.EXACT
    return Proposal(line, fit, tuple(parts))


def _guess(line: BankLine, waiting: list[InvoiceWithBalance]) -> Proposal:
    """No number is quoted: the one open invoice over exactly this amount, if there is but one."""
    fitting = [
        row for row in waiting if (row.currency, row.amount_due) == (line.currency, line.amount)
    ]
    if len(fitting) == 1:
        return Proposal(line, Fit.GUESS, ((fitting[0], line.amount),))
    return Proposal(line, Fit.NONE, why_not="No invoice is quoted.")


def candidates(line: BankLine) -> list[InvoiceWithBalance]:
    """Invoices that a person may assign a line to: in its currency, the open ones first.

    Those of engagements that ended only where the payer quoted them: there are ever more.
    """
    quoted = {number for _, _, number in quoted_numbers(line.text)}
    may_take = ~Q(engagement__stage__in=ENDED) | Q(number__in=quoted)
    rows = issued_invoices().filter(may_take, currency=line.currency)
    return sorted(rows.order_by("due_on", "pk"), key=lambda row: row.amount_due <= 0)
