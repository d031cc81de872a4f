"""Check 5: are there engineers to maintain it?

A kernel must be ported to new architectures, debugged when fused neighbours change its numbers, and
remeasured. The check compares these hours with the hours of the named maintainers.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from msgspec import Struct

from engagements.audit.rules.check import Check, Meanings, Quantity
from engagements.audit.rules.figures import Chart, Figures, Table, table
from engagements.audit.rules.finding import Finding, Missing
from engagements.audit.rules.inputs import AuditInputs
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.phrases import hours, listed
from engagements.audit.rules.thresholds import Thresholds
from engagements.charts import drawing

NAME = "maintain"


def _expects(engineers: Decimal) -> Outcome | None:
    return None if engineers > 0 else Outcome.FAIL


MAINTAINERS = Missing(what="The maintainers of the kernel, with their hours per month.")
GENERATIONS = Missing(what="The planned GPU generations, with dates.")
MONTHS_A_YEAR = 12
YEAR = dt.timedelta(days=365)


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep:
    """One kind of maintenance, in hours a month, and the source of the figure."""

    name: str
    hours_a_month: float
    reason: str


class UpkeepFigures(Figures, Struct, frozen=True, kw_only=True, tag=NAME, tag_field="check"):
    """Hours a month required and available."""

    tasks: tuple[Upkeep, ...]
    needed: float
    people: tuple[tuple[str, float], ...]
    offered: float | None

    def tables(self) -> tuple[Table, ...]:
        """A row per kind of maintenance, then the people."""
        rows = [(task.name, f"{task.hours_a_month:.1f}", task.reason) for task in self.tasks]
        rows.append(("Required in total", f"{self.needed:.1f}", ""))
        rows += [(f"Available: {name}", f"{hours:.1f}", "") for name, hours in self.people]
        columns = ("Maintenance", "Hours", "Reason")
        return (table("Hours per month", columns, rows, numbers=(1,), most=20),)

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """Two bars, required and available; None without tasks."""
        if not self.tasks:
            return None
        return Chart(
            title="Hours per month, required and available",
            caption="Hours of kernel maintenance against the available hours of maintainers.",
            alt=self.alt(),
            draw=drawing("engagements.audit.charts.hours", self),
        )

    def alt(self) -> str:
        """Describe the chart as alt text."""
        tasks = ", ".join(f"{task.name} {task.hours_a_month:g}" for task in self.tasks)
        offered = "not known" if self.offered is None else f"{self.offered:g}"
        return f"Required: {self.needed:g} hours per month ({tasks}). Available: {offered}."


def find(inputs: AuditInputs) -> Finding:
    """Compare the required hours a month with those of the maintainers."""
    tasks = upkeep(inputs)
    needed = sum(task.hours_a_month for task in tasks)
    people = inputs.maintainers.value.people if inputs.maintainers else ()
    offered = inputs.maintainers.value.hours_a_month if inputs.maintainers else None
    outcome = Outcome.UNKNOWN
    if offered is not None:
        outcome = Outcome.PASS if people and offered >= needed else Outcome.FAIL
    to_collect = [MAINTAINERS] if inputs.maintainers is None else []
    to_collect += [GENERATIONS] if inputs.generations is None else []
    answers = (inputs.maintainers, inputs.generations)
    return Finding(
        check=NAME,
        outcome=outcome,
        value=offered,
        threshold=needed,
        unit="hours a month",
        shown=f"{hours(offered)} a month" if offered is not None else "",
        wanted=f"{hours(needed)} a month",
        sentence=_sentence(outcome, needed, offered),
        paragraph=_paragraph(tasks, needed, inputs),
        evidence=tuple(known.source for known in answers if known is not None),
        to_collect=tuple(to_collect),
        questions=(
            ("Who ports the kernel to the next GPU and debugs it, and at what price?",)
            if outcome != Outcome.PASS
            else ()
        ),
        figures=UpkeepFigures(
            tasks=tasks,
            needed=needed,
            people=tuple((person.name, person.hours_a_month) for person in people),
            offered=offered,
        ),
    )


def upkeep(inputs: AuditInputs) -> tuple[Upkeep, ...]:
    """Return the recurring maintenance tasks in hours a month."""
    lines = inputs.thresholds
    if inputs.generations is None:
        ported, present = lines.architectures_a_year, 1
        reason = f"{ported:g} new architecture a year by default, without stated plans"
    else:
        known = inputs.generations.value.generations
        coming = [
            generation.name
            for generation in known
            if generation.planned_on and inputs.today < generation.planned_on <= inputs.today + YEAR
        ]
        later = [each for each in known if each.planned_on and each.planned_on > inputs.today]
        ported, present = float(len(coming)), max(1, len(known) - len(later))
        reason = f"{listed(coming)} within a year" if coming else "none planned within a year"
    return (
        Upkeep(
            name="new architectures",
            hours_a_month=ported * lines.architecture_hours / MONTHS_A_YEAR,
            reason=f"{reason}, {hours(lines.architecture_hours)} each",
        ),
        Upkeep(
            name="numerical debugging",
            hours_a_month=lines.numerics_hours,
            reason="when fused operations change results of their neighbours",
        ),
        Upkeep(
            name="remeasuring",
            hours_a_month=present * lines.benchmark_hours,
            reason=f"when drivers and neighbouring kernels change, on {present} "
            f"GPU generation{'s' if present > 1 else ''}",
        ),
    )


def _sentence(outcome: Outcome, needed: float, offered: float | None) -> str:
    if outcome == Outcome.UNKNOWN or offered is None:
        return (
            f"The kernel requires about {hours(needed)} of maintenance per month; no maintainer "
            "is named yet."
        )
    if outcome == Outcome.PASS:
        return (
            f"Your team has {hours(offered)} per month for a kernel that requires {hours(needed)}."
        )
    if offered == 0:
        return f"The kernel requires {hours(needed)} per month, and nobody has time for it."
    return f"Your team has {hours(offered)} per month, and the kernel requires {hours(needed)}."


def _paragraph(tasks: tuple[Upkeep, ...], needed: float, inputs: AuditInputs) -> str:
    said = [f"{task.name} {hours(task.hours_a_month)} ({task.reason})" for task in tasks]
    text = f"{said[0][:1].upper()}{listed(said)[1:]} add up to {hours(needed)} per month."
    people = inputs.maintainers.value.people if inputs.maintainers else ()
    if people:
        named = [f"{person.name} {hours(person.hours_a_month)}" for person in people]
        text += f" Maintainers: {listed(named)}."
    elif inputs.maintainers is not None:
        text += " No maintainer is named."
    return text


CHECK = Check(
    name=NAME,
    question="Is there a team that can maintain it?",
    why=("A custom kernel needs an owner for new GPUs, changed neighbours and numerical errors."),
    reason=(
        "New hardware and library versions require changes to the kernel. Someone must make them."
    ),
    vendor_question=(
        "Who retunes it for the next GPU and debugs wrong numbers, and do we get the source, its "
        "tests and its benchmark?"
    ),
    value_label="Available maintenance",
    value_hint="the number of people, such as 2 engineers.",
    consultant=Meanings(
        passed="Named engineers can maintain the kernel after the handover.",
        failed="The customer has nobody to maintain the kernel.",
        unknown="The maintainer of the kernel is not decided yet.",
    ),
    customer=Meanings(
        passed="Your team can maintain the kernel after the handover.",
        failed="Nobody on your team could maintain the kernel after the handover.",
        unknown="The maintainer of the kernel is not decided yet.",
    ),
    quantity=Quantity(
        "engineers", r"(?:\w+ )?(?:engineers?|people|persons?|FTEs?)", low=Decimal(0)
    ),
    expects=_expects,
    asks_people=True,
    find=find,
)
