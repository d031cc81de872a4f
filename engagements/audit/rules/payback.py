"""When the fee has come back from the GPU time that is saved."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.case import Case
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.gain import Gain

WEEKS_A_MONTH = Decimal(52) / Decimal(12)


@dataclass(frozen=True, kw_only=True)
class Payback:
    """What is saved a month, least and most, and after how many weeks the fee is back.

    `weeks` has the soonest and the latest, from delivery; None is never.
    """

    saved_a_month: tuple[Decimal, Decimal]
    weeks: tuple[float | None, float | None]


def saved(bill_a_month: Decimal, end_to_end: float) -> Decimal:
    """What a whole `end_to_end` times as fast takes off the bill: 1 - 1 / ratio of it.

    A whole that is slower saves nothing.
    """
    if end_to_end <= 1:
        return Decimal(0)
    return bill_a_month * (1 - 1 / Decimal(str(end_to_end)))


def weeks_to_pay(fee: Decimal, saved_a_month: Decimal) -> float | None:
    """Weeks until savings reach the fee; None when nothing is saved."""
    if saved_a_month <= 0:
        return None
    return float(fee / saved_a_month * WEEKS_A_MONTH)


def payback(case: Case, expected: Gain | None) -> Payback | None:
    """The payback of the case; None without fee, bill and speedup in one currency."""
    work, bill = case.work, case.gpu_bill
    if expected is None or work is None or bill is None or work.value.fee is None:
        return None
    if work.value.currency != bill.value.currency:
        return None
    ratios: Interval = expected.end_to_end
    least = saved(bill.value.amount_a_month, ratios.low)
    most = saved(bill.value.amount_a_month, ratios.high)
    fee = work.value.fee
    return Payback(
        saved_a_month=(least, most),
        weeks=(weeks_to_pay(fee, most), weeks_to_pay(fee, least)),
    )
