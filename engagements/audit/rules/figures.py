"""The numbers, tables and chart beside a finding's value.

Each check declares its own figures in its own module, as a `Struct` tagged with the check's
name. Shares are fractions of 1, ratios are times over, `None` is 'not measured'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from engagements.audit.rules.thresholds import Thresholds
    from engagements.charts.palette import Theme

NOT_KNOWN = "not known"
LISTED = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A chart with its texts; `draw` returns the SVG in a theme, "" without data."""

    title: str
    caption: str
    alt: str
    draw: Callable[[Theme], str]


@dataclass(frozen=True)
class Column:
    """The heading of a column; numbers are aligned right."""

    label: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """Plain text in rows, the first cell naming its row. `more` counts the rows left out.

    `is_facts` when every row is a name and its value.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    is_facts: bool = False


class Figures:
    """Base of every check's figures. Subclasses are `Struct`s with tag_field="check"."""

    def tables(self) -> tuple[Table, ...]:
        """The figures in rows; a table without rows is not shown."""
        return ()

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """The chart against the audit's thresholds; None without one."""
        return None


def decode(kind: type, data: Any) -> Any:
    """Restore figures by their tag: msgspec's `dec_hook`. ValueError for an unknown check."""
    for known in Figures.__subclasses__() if kind is Figures else ():
        if data["check"] == known.__struct_config__.tag:  # type: ignore[attr-defined]
            return msgspec.convert(data, known)
    raise ValueError("Unknown check of stored figures.")


def facts(caption: str, *rows: tuple[str, str]) -> Table:
    """A table of names and values, without the empty values."""
    columns = (Column("What"), Column("Value"))
    return Table(caption, columns, tuple(row for row in rows if row[1]), is_facts=True)


def table(
    caption: str,
    columns: Iterable[str],
    rows: Sequence[tuple[str, ...]],
    *,
    numbers: tuple[int, ...] = (),
    most: int = LISTED,
) -> Table:
    """A table of the first `most` rows; `numbers` are the columns aligned right."""
    return Table(
        caption=caption,
        columns=tuple(Column(label, index in numbers) for index, label in enumerate(columns)),
        rows=tuple(rows[:most]),
        more=max(len(rows) - most, 0),
    )
