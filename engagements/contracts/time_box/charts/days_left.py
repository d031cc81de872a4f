"""The days of a time-box as they run down, with its pauses, and the hours put in beneath."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter, WeekdayLocator, date2num
from matplotlib.ticker import MaxNLocator

from engagements.charts import canvas
from engagements.charts.palette import Theme

if TYPE_CHECKING:
    from engagements.contracts.time_box.burn_down import BurnDown

TITLE = "The time-box"


def draw(data: BurnDown, theme: Theme) -> str:
    """Days left over the calendar: solid up to today, dotted ahead."""
    with canvas.sheet(
        theme=theme, title=TITLE, description=data.description, height_in=2.6, heights=[3, 1]
    ) as drawn:
        _days(drawn.axes[0], data, drawn.ink)
        _hours(drawn.axes[1], data, drawn.ink)
    return drawn.svg


def _days(axes: Axes, data: BurnDown, ink: Mapping[str, str]) -> None:
    before = data.starts_on - timedelta(days=1)
    points = [(day, data.left_after(day)) for day in [before, *data.days]]
    gone = [point for point in points if point[0] < data.today]
    ahead = points[max(len(gone) - 1, 0) :]
    for part, style, colour in ((gone, "-", "candidate"), (ahead, ":", "axis")):
        places = [date2num(day + timedelta(days=1)) for day, _ in part]
        axes.plot(places, [left for _, left in part], style, color=ink[colour], linewidth=1.6)
    for day in sorted(data.paused & set(data.days)):
        axes.axvspan(date2num(day), date2num(day) + 1, color=ink["band"], linewidth=0)
    if data.starts_on <= data.today <= data.ends_on:
        canvas.upright(axes, date2num(data.today), "today", ink["target"])
    axes.set_ylabel("days left")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y")


def _hours(axes: Axes, data: BurnDown, ink: Mapping[str, str]) -> None:
    days = sorted(data.hours)
    places = [date2num(day) + 0.5 for day in days]
    axes.bar(places, [float(data.hours[day]) for day in days], 0.8, color=ink["candidate"])
    axes.set_ylabel("hours")
    axes.set_ylim(bottom=0, top=None if days else 8)
    axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    last = max([data.ends_on, *days])
    axes.set_xlim(date2num(data.starts_on), date2num(last) + 1)
    locator = WeekdayLocator(byweekday=data.starts_on.weekday())
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
