"""How much of each line a credit note takes back: never more than is not credited yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from engagements.billing.models import InvoiceLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money, tax_on

NOTHING = Decimal(0)


@dataclass(frozen=True)
class Credit:
    """What is taken back of `line`, net and its tax, in the invoice's currency."""

    line: InvoiceLine
    net: Decimal
    tax: Decimal
    is_all: bool


def creditable(line: InvoiceLine) -> tuple[Decimal, Decimal]:
    """What is not credited yet of a line: net, tax."""
    issued = [credit for credit in line.credit_lines.all() if credit.invoice.is_issued]
    return (
        line.net - sum((credit.net for credit in issued), NOTHING),
        line.tax - sum((credit.tax for credit in issued), NOTHING),
    )


def split(
    lines: Sequence[InvoiceLine],
    *,
    currency: str,
    net: Decimal | None = None,
    by_line: Mapping[InvoiceLine, Decimal] | None = None,
) -> list[Credit]:
    """Divide a credit of `net` among `lines`: all that is left where it is None.

    A part is taken from the last line backwards, unless `by_line` says how much of which.
    Refused when that is nothing, or more than is left.
    """
    left = {line: creditable(line) for line in lines}
    if by_line is not None:
        wanted = {
            line: validation.amount(part, currency, noun=f"The credit of “{line.title}”")
            for line, part in by_line.items()
        }
    elif net is None:
        wanted = {line: rest for line, (rest, _) in left.items() if rest > 0}
    else:
        wanted = _from_the_last(validation.amount(net, currency, noun="The credit"), left)
    most = sum((rest for rest, _ in left.values()), NOTHING)
    if most <= 0:
        raise ApplicationError("This invoice is credited in full already.", code="billing.todo")
    if not wanted or any(part <= 0 for part in wanted.values()):
        raise ApplicationError("A credit note is about more than nothing.", code="billing.todo")
    if any(line not in left or part > left[line][0] for line, part in wanted.items()):
        raise ApplicationError(
            f"{format_money(most, currency)} without tax is left to credit, not more.",
            code="billing.todo",
        )
    return [_credit(line, wanted[line], left[line], currency) for line in lines if line in wanted]


def _from_the_last(
    net: Decimal, left: dict[InvoiceLine, tuple[Decimal, Decimal]]
) -> dict[InvoiceLine, Decimal]:
    wanted = {}
    rest = net
    for line, (limit, _) in reversed(left.items()):
        part = min(rest, limit)
        if part > 0:
            wanted[line] = part
            rest -= part
    if rest > 0 and wanted:
        # More than there is: the last line carries it, so that the sum is refused as a whole.
        wanted[next(iter(wanted))] += rest
    return wanted


def _credit(
    line: InvoiceLine, net: Decimal, left: tuple[Decimal, Decimal], currency: str
) -> Credit:
    """What remains of the line keeps exactly the tax on it; the credit takes the rest."""
    rest = left[0] - net
    tax = left[1] - tax_on(rest, line.tax_rate_percent, currency)
    return Credit(line=line, net=net, tax=max(tax, NOTHING), is_all=rest == 0)
