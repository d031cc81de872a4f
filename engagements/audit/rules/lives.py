"""The kernel's lifetime: until a planned model changes axes that it cannot handle."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from msgspec import Struct

from engagements.audit.rules.figures import NOT_KNOWN, Chart, Figures, Interval, Table, facts, table
from engagements.audit.rules.finding import Source
from engagements.audit.rules.inputs import AuditInputs, Needs
from engagements.audit.rules.phrases import money, times_each, weeks
from engagements.audit.rules.thresholds import Thresholds
from engagements.charts import drawing
from engagements.evidence.readers.questions import NextModel
from kernels import catalogue


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChange:
    """A planned model with the axes that it changes.

    `free` axes may have any size; the kernel is written for the size of `tuned` axes; `foreign`
    axes are not in the Definition, so the model needs another operator.
    """

    name: str
    expected_on: dt.date
    weeks_away: float
    free: tuple[str, ...]
    tuned: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def ends_the_kernel(self) -> bool:
        """Whether this change makes the kernel obsolete."""
        return bool(self.tuned or self.foreign)


class LifeFigures(Figures, Struct, frozen=True, kw_only=True, tag="survives", tag_field="check"):
    """Weeks of life against weeks of work, and the payback of the fee.

    `remaining_weeks` is life less work. `saved_a_month` is of the GPU bill. `payback_weeks` counts
    from delivery; its low end corresponds to the high end of the speedup. It is None when the
    bill, the fee or the speedup is unknown; one end is None when the fee is never paid back.
    """

    life_weeks: float
    is_open_ended: bool
    work_weeks: float
    remaining_weeks: float
    changes: tuple[ModelChange, ...]
    fee: Decimal | None
    currency: str | None
    bill_a_month: Decimal | None
    end_to_end: Interval | None
    saved_a_month: tuple[Decimal, Decimal] | None
    payback_weeks: tuple[float | None, float | None] | None

    def tables(self) -> tuple[Table, ...]:
        """The payback, and a row per planned model."""
        rows = [
            (
                each.name,
                f"{each.expected_on.day} {each.expected_on:%b %Y}",
                weeks(each.weeks_away),
                ", ".join((*each.tuned, *each.foreign)) or "no relevant axis",
                "obsolete" if each.ends_the_kernel else "remains useful",
            )
            for each in self.changes
        ]
        columns = ("Model", "Expected", "In", "Changes", "Kernel")
        return self._payback(), table("Planned models", columns, rows)

    def _payback(self) -> Table:
        currency, saved = self.currency or "", self.saved_a_month
        return facts(
            "Lifetime, work and payback",
            ("Life", weeks(self.life_weeks) + (" or more" if self.is_open_ended else "")),
            ("Work", weeks(self.work_weeks)),
            ("Lifetime after the work", weeks(max(self.remaining_weeks, 0.0))),
            ("Fee, net", NOT_KNOWN if self.fee is None else money(self.fee, currency)),
            (
                "GPU bill per month",
                NOT_KNOWN if self.bill_a_month is None else money(self.bill_a_month, currency),
            ),
            ("End-to-end speedup", times_each(self.end_to_end) if self.end_to_end else NOT_KNOWN),
            (
                "Saving per month",
                " to ".join(money(each, currency) for each in saved) if saved else NOT_KNOWN,
            ),
            ("Payback after", self._payback_time()),
        )

    def _payback_time(self) -> str:
        if self.payback_weeks is None:
            return NOT_KNOWN
        soonest, latest = (None if each is None else weeks(each) for each in self.payback_weeks)
        if soonest is None:
            return "never"
        return soonest if soonest == latest else f"{soonest} to {latest or 'never'}"

    def chart(self, thresholds: Thresholds) -> Chart:
        """Work and life on one axis of weeks, with planned models and the payback."""
        return Chart(
            title="Lifetime and work in weeks",
            caption="Weeks from today; payback from its earliest to its latest week.",
            alt=self.alt(),
            draw=drawing("engagements.audit.charts.weeks", self),
        )

    def alt(self) -> str:
        """Describe the chart as alt text."""
        plus = " or more" if self.is_open_ended else ""
        lines = [
            f"The work takes {self.work_weeks:g} weeks; the kernel is useful until week "
            f"{self.life_weeks:g}{plus}."
        ]
        soonest, latest = self.payback_weeks or (None, None)
        if soonest is not None:
            upper = f"{latest:.3g}" if latest is not None else "never"
            lines.append(f"The fee is paid back {soonest:.3g} to {upper} weeks after delivery.")
        elif self.payback_weeks is not None:
            lines.append("The fee is never paid back.")
        lines += [
            f"{each.name} is expected in week {each.weeks_away:.3g}." for each in self.changes
        ]
        return " ".join(lines)


@dataclass(frozen=True, kw_only=True)
class Life:
    """The kernel's lifetime in weeks from today.

    `is_open_ended` when no planned model ends it; `weeks` is the planning horizon then.
    `ended_by` names the model that ends it.
    """

    weeks: float
    is_open_ended: bool
    ended_by: str | None
    reason: str
    changes: tuple[ModelChange, ...]
    sources: tuple[Source, ...]


def life(inputs: AuditInputs) -> Life | None:
    """Return the lifetime by the roadmap, else as stated; None without either."""
    horizon = inputs.thresholds.horizon_weeks
    if inputs.roadmap is not None:
        needs = inputs.needs.value if inputs.needs else None
        models = sorted(inputs.roadmap.value.models, key=lambda model: model.expected_on)
        changes = tuple(_change(model, needs, inputs.today) for model in models)
        ending = next((change for change in changes if change.ends_the_kernel), None)
        if ending is not None and ending.weeks_away < horizon:
            reason = (
                f"{ending.name} makes the kernel obsolete in {weeks(max(0.0, ending.weeks_away))}."
            )
        else:
            ending, reason = None, _outlasted(changes, horizon)
        return Life(
            weeks=max(0.0, ending.weeks_away) if ending else horizon,
            is_open_ended=ending is None,
            ended_by=ending.name if ending else None,
            reason=reason,
            changes=changes,
            sources=(inputs.roadmap.source,),
        )
    if inputs.life_weeks is None:
        return None
    stated = inputs.life_weeks.value
    return Life(
        weeks=min(stated, horizon),
        is_open_ended=stated >= horizon,
        ended_by=None,
        reason=f"The stated lifetime of the model is {weeks(stated)}.",
        changes=(),
        sources=(inputs.life_weeks.source,),
    )


def _outlasted(changes: tuple[ModelChange, ...], horizon: float) -> str:
    if not changes:
        return f"No other model is planned; the planning horizon is {weeks(horizon)}."
    return f"No planned model ends the kernel's life within {weeks(horizon)}."


def _change(model: NextModel, needs: Needs | None, today: dt.date) -> ModelChange:
    """Classify the changed axes by the Definition.

    Without a Definition in the catalogue, every changed axis counts as tuned.
    """
    free: list[str] = []
    tuned: list[str] = []
    foreign: list[str] = []
    known = needs is not None and needs.definition in catalogue.operators()
    what = catalogue.definition(needs.definition) if needs and known else None
    present = needs.axes if needs else {}
    for axis, size in sorted(model.axes.items()):
        if present.get(axis) == size:
            continue
        if what is None:
            tuned.append(axis)
        elif axis not in what.axes:
            foreign.append(axis)
        elif axis in what.held_back.free:
            free.append(axis)
        else:
            tuned.append(axis)
    return ModelChange(
        name=model.name,
        expected_on=model.expected_on,
        weeks_away=(model.expected_on - today).days / 7,
        free=tuple(free),
        tuned=tuple(tuned),
        foreign=tuple(foreign),
    )
