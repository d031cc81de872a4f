"""The answer to a pitch, as its page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.utils.safestring import SafeString

from engagements.audit.rules import CHECKS
from engagements.audit.rules.advice import Verdict
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Finding
from engagements.audit.rules.lives import LifeFigures
from engagements.audit.rules.phrases import money, percent, times, times_each, weeks
from engagements.audit.rules.suggestions import suggest
from engagements.charts import responses
from engagements.evidence.readers import TraceFacts
from engagements.pitch.rules import Read, VendorQuestion, questions

QUESTIONS = {check.name: check.question for check in CHECKS}


@dataclass(frozen=True)
class CheckedClaim:
    """One check's finding under its question."""

    question: str
    finding: Finding


@dataclass(frozen=True)
class Figure:
    """One figure at the top of the answer."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart of the page."""

    title: str
    note: str
    svg: SafeString


@dataclass(frozen=True)
class Choice:
    """An operator of the profile, with its key in the link."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Answer:
    """A verdict with figures, charts and questions; `link` reproduces it, `pairs` are its query."""

    verdict: Verdict
    read: list[Read]
    pairs: list[tuple[str, str]]
    link: str

    @property
    def findings(self) -> list[CheckedClaim]:
        """Every check's finding, in order."""
        return [CheckedClaim(QUESTIONS[each.check], each) for each in self.verdict.findings]

    @property
    def questions(self) -> tuple[VendorQuestion, ...]:
        """Questions for the vendor."""
        return questions(self.verdict)

    @cached_property
    def ceiling(self) -> CeilingFigures | None:
        """Figures of the ceiling."""
        return next((each for each in self._figures if isinstance(each, CeilingFigures)), None)

    @cached_property
    def life(self) -> LifeFigures | None:
        """Figures of lifetime, work and payback."""
        return next((each for each in self._figures if isinstance(each, LifeFigures)), None)

    @property
    def _figures(self) -> list[object]:
        return [each.figures for each in self.verdict.findings]

    @property
    def pictures(self) -> list[Picture]:
        """Charts of the ceiling and the payback that have data."""
        found = []
        for figures in (self.ceiling, self.life):
            chart = figures.chart(self.verdict.thresholds) if figures else None
            if chart and (drawn := responses.inline(chart.draw)):
                found.append(Picture(chart.title, chart.caption, drawn))
        return found

    @property
    def figures(self) -> list[Figure]:
        """The main figures."""
        return [
            Figure("Checks that pass", f"{self.verdict.passes} of {len(CHECKS)}"),
            *self._of_the_ceiling(),
            *self._of_the_payback(),
        ]

    def _of_the_ceiling(self) -> list[Figure]:
        figures = self.ceiling
        if figures is None:
            return []
        infinite = "no limit" if figures.infinite is None else times(figures.infinite)
        needed = "impossible" if figures.needed is None else times(figures.needed)
        found = [
            Figure("Infinitely fast kernel", infinite, "largest end-to-end speedup"),
            Figure(f"For {times(figures.target)} end to end", needed, "kernel speedup"),
        ]
        if figures.claimed is not None:
            low, high = map(figures.ratio, (figures.claimed.low, figures.claimed.high))
            whole = times_each(Interval(low=low, high=high))
            found.insert(0, Figure("With the claim", whole, "end to end"))
        return found

    def _of_the_payback(self) -> list[Figure]:
        life = self.life
        if life is None or life.payback_weeks is None or life.saved_a_month is None:
            return []
        soonest, latest = life.payback_weeks
        ends = [weeks(end) for end in (soonest, latest) if end is not None]
        said = " to ".join(dict.fromkeys(ends)) if ends else "never"
        low, high = (money(amount, life.currency or "") for amount in life.saved_a_month)
        saved = low if low == high else f"{low} to {high}"
        return [
            Figure("Payback", said, "from delivery, at the claim"),
            Figure("Saving per month", saved, "of the GPU bill"),
        ]

    @property
    def operators(self) -> list[Choice]:
        """Operators of the profile with the chosen one marked; empty without a profile."""
        traces = [each.facts for each in self.read if isinstance(each.facts, TraceFacts)]
        chosen = dict(self.pairs).get("operator")
        return [
            Choice(
                value=each.operator.key,
                label=f"{each.operator.name}, {percent(each.share_of_wall)} of wall-clock time",
                is_chosen=each.operator.key == chosen,
            )
            for trace in traces
            for each in suggest(trace)
        ]

    @property
    def rest(self) -> list[tuple[str, str]]:
        """The query without its operator, for the form that chooses another."""
        return [pair for pair in self.pairs if pair[0] != "operator"]
