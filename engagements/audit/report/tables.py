"""The tables of the findings: plain text in rows, for the page and for the document alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.figures import (
    CeilingFigures,
    CoverageFigures,
    Figures,
    HotFigures,
    Interval,
    LifeFigures,
    ShapeFigures,
    UpkeepFigures,
)
from engagements.audit.rules.phrases import (
    money,
    percent,
    percents,
    times,
    times_each,
    volume,
    weeks,
)
from engagements.documents import formatting

NOT_KNOWN = "not known"
LISTED = 8
VERDICTS = {"fits": "Fits", "nearly": "Nearly fits", "no": "Does not fit"}


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers stand at the right."""

    label: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it. `more` counts the rows that are left out.

    `is_facts` when every row is a name and its value, which takes little room.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    is_facts: bool = False


def of(figures: Figures | None) -> tuple[Table, ...]:
    """Every table of a finding's figures that has a row."""
    tables: tuple[Table, ...] = ()
    match figures:
        case HotFigures():
            tables = (_heat(figures),)
        case CoverageFigures():
            tables = (_candidates(figures),)
        case ShapeFigures():
            tables = (_conditions(figures),)
        case LifeFigures():
            tables = (_payback(figures), _changes(figures))
        case UpkeepFigures():
            tables = (_upkeep(figures),)
        case CeilingFigures():
            tables = (_ceiling(figures), _headroom(figures))
    return tuple(table for table in tables if table.rows)


def _heat(figures: HotFigures) -> Table:
    return _facts(
        f"The time of {figures.operator}",
        ("Share of the wall-clock time", percents(figures.share_of_wall)),
        ("Share of the GPU's busy time", _percent(figures.share_of_gpu)),
        ("The GPU is idle", _percent(figures.gpu_idle_share)),
        ("The GPU waits for the host", _percent(figures.launch_bound_share)),
        ("It waits for", figures.waiting_for or ""),
        ("The stricter test", figures.stricter.sentence),
    )


def _candidates(figures: CoverageFigures) -> Table:
    rows = [
        (
            f"{each.name} {each.version}".strip(),
            VERDICTS[each.verdict],
            "; ".join(each.missing) or "nothing",
            "; ".join(each.unknown) or "nothing",
            times_each(each.ratio) if each.ratio else "not measured",
        )
        for each in figures.candidates
    ]
    columns = ("Library", "Verdict", "What it lacks", "Not documented", "Ours over it")
    return _table("What there is off the shelf, the closest first", columns, rows)


def _conditions(figures: ShapeFigures) -> Table:
    rows = [
        (
            _capital(each.name),
            _quantity(each.value),
            _quantity(each.threshold),
            {True: "holds", False: "does not hold", None: "could not be tested"}[each.holds],
        )
        for each in figures.conditions
    ]
    return _table("Conditions", ("Condition", "Value", "Line", "So it"), rows, numbers=(1, 2))


def _payback(figures: LifeFigures) -> Table:
    life = weeks(figures.life_weeks) + (" or more" if figures.is_open_ended else "")
    currency = figures.currency or ""
    saved = figures.saved_a_month
    return _facts(
        "Life, work and payback",
        ("Life", life),
        ("Work", weeks(figures.work_weeks)),
        ("Life after the work", weeks(max(figures.remaining_weeks, 0.0))),
        ("Fee, net", _money(figures.fee, currency)),
        ("GPU bill a month", _money(figures.bill_a_month, currency)),
        ("Speedup end to end", times_each(figures.end_to_end) if figures.end_to_end else NOT_KNOWN),
        (
            "Saved a month",
            f"{money(saved[0], currency)} to {money(saved[1], currency)}" if saved else NOT_KNOWN,
        ),
        ("The fee has come back after", _back(figures.payback_weeks)),
    )


def _back(payback: tuple[float | None, float | None] | None) -> str:
    if payback is None:
        return NOT_KNOWN
    soonest, latest = (None if each is None else weeks(each) for each in payback)
    if soonest is None:
        return "never"
    return soonest if soonest == latest else f"{soonest} to {latest or 'never'}"


def _changes(figures: LifeFigures) -> Table:
    rows = [
        (
            each.name,
            formatting.day(each.expected_on),
            weeks(each.weeks_away),
            ", ".join((*each.tuned, *each.foreign)) or "nothing that matters",
            "ends the kernel" if each.ends_the_kernel else "keeps the kernel",
        )
        for each in figures.changes
    ]
    return _table("Models to come", ("Model", "Expected", "In", "Changes", "So it"), rows)


def _upkeep(figures: UpkeepFigures) -> Table:
    rows = [(task.name, f"{task.hours_a_month:.1f}", task.reason) for task in figures.tasks]
    rows.append(("Wanted in all", f"{figures.needed:.1f}", ""))
    rows += [(f"There: {name}", f"{hours:.1f}", "") for name, hours in figures.people]
    return _table("Hours a month", ("Upkeep", "Hours", "Because"), rows, numbers=(1,), most=20)


def _ceiling(figures: CeilingFigures) -> Table:
    needed = times(figures.needed) if figures.needed else "no kernel reaches it"
    return _facts(
        "Under the ceiling",
        ("Share of the wall-clock time", percent(figures.share)),
        ("An infinitely fast kernel gives", times(figures.infinite) if figures.infinite else ""),
        (f"The target of {times(figures.target)} takes a kernel", needed),
        ("The kernel can gain at most", times(figures.most) if figures.most else NOT_KNOWN),
        ("That makes the whole", times(figures.ceiling) if figures.ceiling else NOT_KNOWN),
        ("Within reach for the kernel", _times(figures.reachable)),
        ("Claimed for the kernel", times_each(figures.claimed) if figures.claimed else ""),
        ("Nearness to the roofline", _percent(figures.roofline_share)),
        ("Least bytes of a call", _bytes(figures)),
    )


def _bytes(figures: CeilingFigures) -> str:
    fewer = figures.fewer_bytes
    if fewer is None:
        return ""
    moved = f", {volume(fewer.moved_bytes)} are moved" if fewer.moved_bytes else ""
    return f"{volume(fewer.least_bytes)}{moved}"


def _headroom(figures: CeilingFigures) -> Table:
    rows = [
        (
            each.name,
            percent(each.share_of_operator),
            percent(each.roofline_share),
            each.bound or NOT_KNOWN,
            each.signature or NOT_KNOWN,
        )
        for each in figures.kernels
    ]
    columns = ("Kernel", "Of the operator", "Of the roofline", "Bound by", "Rung")
    return _table("The operator's kernels under Nsight Compute", columns, rows, numbers=(1, 2))


def _facts(caption: str, *facts: tuple[str, str]) -> Table:
    """Names and values; what is empty does not apply and is left out."""
    rows = tuple(fact for fact in facts if fact[1])
    return Table(caption, (Column("What"), Column("Value")), rows, is_facts=True)


def _table(
    caption: str,
    columns: Iterable[str],
    rows: Sequence[tuple[str, ...]],
    *,
    numbers: tuple[int, ...] = (),
    most: int = LISTED,
) -> Table:
    return Table(
        caption=caption,
        columns=tuple(
            Column(label, is_number=index in numbers) for index, label in enumerate(columns)
        ),
        rows=tuple(rows[:most]),
        more=max(len(rows) - most, 0),
    )


def _percent(share: float | None) -> str:
    return NOT_KNOWN if share is None else percent(share)


def _times(found: Interval | None) -> str:
    return times_each(found) if found else NOT_KNOWN


def _money(amount: Decimal | None, currency: str) -> str:
    return NOT_KNOWN if amount is None else money(amount, currency)


def _quantity(value: float | None) -> str:
    """A share as a percentage, a number above one as it is."""
    if value is None:
        return NOT_KNOWN
    return percent(value) if value <= 1 else f"{value:.1f}".removesuffix(".0")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
