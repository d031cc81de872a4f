"""The expected end-to-end gain, from the best available evidence, and the payback."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules import ceiling, roofline, selection
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Source, Sourced
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.phrases import percent, times
from engagements.audit.rules.roofline import Headroom
from engagements.audit.rules.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The expected end-to-end ratio, between two bounds, with its basis."""

    end_to_end: Interval
    basis: str
    sources: tuple[Source, ...]


def reachable(room: Headroom, lines: Thresholds) -> Interval | None:
    """Return the kernel speedups at 60% and 80% of the roofline; None when it is unknown."""
    share = room.effective_share
    if share is None:
        return None
    return Interval(
        low=max(1.0, lines.bound_share / share), high=max(1.0, lines.tuned_share / share)
    )


def expected(inputs: AuditInputs) -> Gain | None:
    """Return the measured gain, else the claimed one, else the one the roofline allows."""
    if inputs.end_to_end is not None:
        return _end_to_end(inputs, inputs.end_to_end)
    share = selection.share(inputs)
    if share is None:
        return None
    room = roofline.headroom(inputs)
    if inputs.kernel_speedup is not None:
        kernel, basis = inputs.kernel_speedup.value, "from the claimed kernel speedup"
        sources: tuple[Source, ...] = (share.source, inputs.kernel_speedup.source)
        if room.most is not None and kernel.high > room.most:
            kernel = Interval(low=min(kernel.low, room.most), high=room.most)
            basis, sources = f"{basis}, capped at the roofline", (*sources, *room.sources)
    else:
        lines = inputs.thresholds
        within = reachable(room, lines)
        if within is None:
            return None
        kernel, basis = (
            within,
            f"from {percent(lines.bound_share)} to {percent(lines.tuned_share)} of the roofline",
        )
        sources = (share.source, *room.sources)
    return Gain(
        end_to_end=Interval(
            low=ceiling.ratio(share.value.low, kernel.low),
            high=ceiling.ratio(share.value.high, kernel.high),
        ),
        basis=basis,
        sources=tuple(dict.fromkeys(sources)),
    )


def _end_to_end(inputs: AuditInputs, known: Sourced[Interval]) -> Gain:
    """Return the measured or stated end-to-end gain, a stated one capped at its ceiling."""
    if known.source.kind in ("run", "file"):
        return Gain(end_to_end=known.value, basis="measured", sources=(known.source,))
    highest, share = highest_ratio(inputs), selection.share(inputs)
    if highest is None or share is None or known.value.high <= highest:
        return Gain(end_to_end=known.value, basis="as stated", sources=(known.source,))
    return Gain(
        end_to_end=Interval(low=min(known.value.low, highest), high=highest),
        basis=f"as stated, capped at the ceiling of {times(highest)}",
        sources=(known.source, share.source),
    )


def highest_ratio(inputs: AuditInputs) -> float | None:
    """Return the end-to-end ceiling: by the roofline, else of an infinitely fast kernel.

    None without the operator's share of the time.
    """
    share = selection.share(inputs)
    if share is None:
        return None
    room = roofline.headroom(inputs)
    if room.most is not None and not room.is_soft:
        return ceiling.ratio(share.value.high, room.most)
    return ceiling.infinite(share.value.high)


WEEKS_A_MONTH = Decimal(52) / Decimal(12)


@dataclass(frozen=True, kw_only=True)
class Payback:
    """Monthly saving, least and most, and weeks until it has repaid the fee.

    `weeks` are the earliest and the latest, from delivery; None is never.
    """

    saved_a_month: tuple[Decimal, Decimal]
    weeks: tuple[float | None, float | None]


def saved(bill_a_month: Decimal, end_to_end: float) -> Decimal:
    """Return the monthly saving of a speedup: 1 - 1 / ratio of the bill.

    A slowdown saves nothing.
    """
    if end_to_end <= 1:
        return Decimal(0)
    return bill_a_month * (1 - 1 / Decimal(str(end_to_end)))


def weeks_to_pay(fee: Decimal, saved_a_month: Decimal) -> float | None:
    """Return the weeks until savings reach the fee; None without savings."""
    if saved_a_month <= 0:
        return None
    return float(fee / saved_a_month * WEEKS_A_MONTH)


def payback(inputs: AuditInputs, expected: Gain | None) -> Payback | None:
    """Return the payback; None without fee, bill and speedup in one currency."""
    work, bill = inputs.work, inputs.gpu_bill
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
