"""Check 5: is there the depth to maintain it?

A kernel is not written once: it is carried to new architectures, debugged when its neighbours
change its numbers, and measured again. Those hours against the people named.
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


MAINTAINERS = Missing(what="Who will maintain the kernel, and how many hours a month each has.")
GENERATIONS = Missing(what="Which GPU generations are planned, and when.")
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
        """A row a kind of maintenance, then the people."""
        rows = [(task.name, f"{task.hours_a_month:.1f}", task.reason) for task in self.tasks]
        rows.append(("Required in total", f"{self.needed:.1f}", ""))
        rows += [(f"Available: {name}", f"{hours:.1f}", "") for name, hours in self.people]
        columns = ("Maintenance", "Hours", "Reason")
        return (table("Hours a month", columns, rows, numbers=(1,), most=20),)

    def chart(self, thresholds: Thresholds) -> Chart | None:
        """Two bars, required and available; None without tasks."""
        if not self.tasks:
            return None
        return Chart(
            title="Hours a month, required and available",
            caption="Hours of kernel maintenance against the hours that people have for it.",
            alt=self.alt(),
            draw=drawing("engagements.audit.charts.hours", self),
        )

    def alt(self) -> str:
        """The chart in words."""
        tasks = ", ".join(f"{task.name} {task.hours_a_month:g}" for task in self.tasks)
        offered = "not known" if self.offered is None else f"{self.offered:g}"
        return f"Required: {self.needed:g} hours a month ({tasks}). Available: {offered}."


def find(inputs: AuditInputs) -> Finding:
    """Hours a month that the kernel wants against those that people have for it."""
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
            ("Who carries the kernel to the next GPU and debugs it, and what does that cost?",)
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
    """The sources' list of what comes back, in hours a month."""
    lines = inputs.thresholds
    if inputs.generations is None:
        ported, present = lines.architectures_a_year, 1
        reason = f"{ported:g} new architecture a year, as nobody said what is planned"
    else:
        known = inputs.generations.value.generations
        coming = [
            generation.name
            for generation in known
            if generation.planned_on and inputs.today < generation.planned_on <= inputs.today + YEAR
        ]
        later = [each for each in known if each.planned_on and each.planned_on > inputs.today]
        ported, present = float(len(coming)), max(1, len(known) - len(later))
        reason = f"{listed(coming)} within a year" if coming else "none is planned within a year"
    return (
        Upkeep(
            name="new architectures",
            hours_a_month=ported * lines.architecture_hours / MONTHS_A_YEAR,
            reason=f"{reason}, {hours(lines.architecture_hours)} each",
        ),
        Upkeep(
            name="numerical debugging",
            hours_a_month=lines.numerics_hours,
            reason="when fused operations change the numbers of their neighbours",
        ),
        Upkeep(
            name="measuring again",
            hours_a_month=present * lines.benchmark_hours,
            reason=f"when drivers and neighbouring kernels change, on {present} "
            f"GPU generation{'s' if present > 1 else ''}",
        ),
    )


def _sentence(outcome: Outcome, needed: float, offered: float | None) -> str:
    if outcome == Outcome.UNKNOWN or offered is None:
        return f"The kernel wants some {hours(needed)} a month; nobody is named for them yet."
    if outcome == Outcome.PASS:
        return f"Your team has {hours(offered)} a month for a kernel that wants {hours(needed)}."
    if offered == 0:
        return f"The kernel wants {hours(needed)} a month and nobody has any for it."
    return f"Your team has {hours(offered)} a month, and the kernel wants {hours(needed)}."


def _paragraph(tasks: tuple[Upkeep, ...], needed: float, inputs: AuditInputs) -> str:
    said = [f"{task.name} {hours(task.hours_a_month)} ({task.reason})" for task in tasks]
    text = f"{said[0][:1].upper()}{listed(said)[1:]} make {hours(needed)} a month."
    people = inputs.maintainers.value.people if inputs.maintainers else ()
    if people:
        named = [f"{person.name} {hours(person.hours_a_month)}" for person in people]
        text += f" Named: {listed(named)}."
    elif inputs.maintainers is not None:
        text += " Nobody is named."
    return text


CHECK = Check(
    name=NAME,
    question="Is there the depth to maintain it?",
    why=(
        "A custom kernel is not written once: new GPUs, new neighbours and numerical surprises "
        "come back to whoever owns it."
    ),
    reason=(
        "New hardware and library versions require changes to the kernel. Someone must make them."
    ),
    vendor_question=(
        "Who retunes it for the next GPU and debugs wrong numbers, and do we get the source, its "
        "tests and its benchmark?"
    ),
    value_label="Upkeep that is provided for",
    value_hint="how many people, as in 2 engineers.",
    consultant=Meanings(
        passed="Named engineers can own the kernel after the handover.",
        failed="Nobody on the customer's side could own the kernel.",
        unknown="Who would own the kernel is not settled yet.",
    ),
    customer=Meanings(
        passed="Your team can own the kernel after the handover.",
        failed="Nobody on your team could look after the kernel once we leave.",
        unknown="It is not settled yet who would look after the kernel.",
    ),
    quantity=Quantity(
        "engineers", r"(?:\w+ )?(?:engineers?|people|persons?|FTEs?)", low=Decimal(0)
    ),
    expects=_expects,
    asks_people=True,
    find=find,
)
