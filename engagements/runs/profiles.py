"""Profiles of candidates: their kernels, each with its limit, stalls, memory and rung."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from engagements.audit.rules import ladder
from engagements.audit.rules.advice import Rung
from engagements.audit.rules.collecting import base_name
from engagements.audit.rules.phrases import capital, volume
from engagements.evidence import candidates
from engagements.evidence.models import Evidence
from engagements.evidence.readers import ComputeFacts, Facts, TraceFacts
from engagements.evidence.readers.facts import KernelTime, MeasuredKernel, Stall, Unit
from engagements.evidence.services import facts_of
from engagements.runs.models import EngagementRun
from engagements.templatetags.show import microseconds, percent, tenths

# Kernels shown, the longest first.
SHOWN = 12
STALLS = {
    "long_scoreboard": "global or local memory (long scoreboard)",
    "short_scoreboard": "shared memory (short scoreboard)",
    "lg_throttle": "queue of global and local memory full (LG throttle)",
    "mio_throttle": "queue of shared memory full (MIO throttle)",
    "tex_throttle": "texture queue full",
    "math_pipe_throttle": "arithmetic pipe busy",
    "barrier": "other warps at a barrier",
    "membar": "memory barrier",
    "wait": "fixed latency of an instruction (wait)",
    "not_selected": "another warp was chosen (not selected)",
    "no_instruction": "instruction not fetched",
    "branch_resolving": "branch target",
    "dispatch_stall": "dispatcher",
    "drain": "stores before the end (drain)",
    "imc_miss": "constant cache miss",
    "gmma": "warpgroup product (GMMA)",
    "warpgroup_arrive": "warpgroup arrival",
    "sleeping": "sleeping",
    "misc": "other",
    "other": "other",
}


@dataclass(frozen=True, kw_only=True)
class KernelRow:
    """A kernel of an export: its longest launch, and the number and time of all of them."""

    kernel: MeasuredKernel
    launches: int
    total_us: float

    @property
    def name(self) -> str:
        """The name without namespaces and arguments."""
        return base_name(self.kernel.name)

    @property
    def rung(self) -> Rung | None:
        """Its rung of the ladder; None when inconclusive."""
        return ladder.explained(self.kernel.name, self.kernel.signature)

    @property
    def limit(self) -> str:
        """The binding limit; without one, the unit nearest to its peak."""
        unit, bound = self.kernel.limit, self.kernel.bound
        if unit is None or bound is None:
            return "not measured"
        at = f"{unit.name} at {percent(unit.peak_share)}"
        return f"latency: busiest is {at}" if bound == "latency" else at

    @property
    def stall(self) -> str:
        """The largest stall reason."""
        found = self.kernel.stalls
        return _stall(found[0]) if found else "–"


@dataclass(frozen=True, kw_only=True)
class CandidateProfile:
    """A file about a candidate; without facts it is not read yet, or unreadable."""

    row: Evidence
    facts: Facts | None

    @property
    def compute(self) -> ComputeFacts | None:
        """The facts of an Nsight Compute export."""
        return self.facts if isinstance(self.facts, ComputeFacts) else None

    @property
    def trace(self) -> TraceFacts | None:
        """The facts of a trace."""
        return self.facts if isinstance(self.facts, TraceFacts) else None

    @property
    def kernels(self) -> list[KernelRow]:
        """The kernels of an export, the longest first."""
        return _rows(self.facts.kernels)[:SHOWN] if isinstance(self.facts, ComputeFacts) else []

    @property
    def hottest(self) -> Sequence[KernelTime]:
        """The longest kernels of a trace."""
        return self.facts.kernels[:SHOWN] if isinstance(self.facts, TraceFacts) else ()

    @property
    def hidden(self) -> int:
        """Launches of an export that are not shown."""
        if not isinstance(self.facts, ComputeFacts):
            return 0
        every = len(self.facts.kernels) + self.facts.kernels_left_out
        return every - sum(row.launches for row in self.kernels)

    @property
    def details(self) -> list[tuple[KernelRow, list[Figures]]]:
        """Each kernel with its figures."""
        return [(row, figures([row])) for row in self.kernels]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A group of figures: a row has a label and a text for each kernel beside the others."""

    title: str
    rows: Sequence[tuple[str, Sequence[str]]]


def profiles_of(run: EngagementRun) -> list[CandidateProfile]:
    """The profiles of a run's candidate, the newest first."""
    rows = candidates.profiles_of(run.engagement, run.run.solution)
    return [CandidateProfile(row=row, facts=facts_of(row)) for row in rows]


def compute_profile_of(run: EngagementRun) -> CandidateProfile | None:
    """The newest Nsight Compute export of a run's candidate."""
    return next((each for each in profiles_of(run) if each.compute), None)


def side_by_side(
    left: CandidateProfile | None, right: CandidateProfile | None
) -> list[tuple[str, list[Figures]]]:
    """The kernels of two exports with their figures, matched by name, then by time."""
    rows, others = (each.kernels if each else [] for each in (left, right))
    pairs: list[tuple[KernelRow | None, KernelRow | None]] = []
    alone: list[KernelRow] = []
    for row in rows:
        other = _match(row, others)
        if other is None:
            alone.append(row)
        else:
            pairs.append((row, other))
            others = [each for each in others if each is not other]
    # A kernel that was renamed is beside the one that takes its place by time.
    pairs.extend(zip_longest(alone, others))
    return [(_title(pair), figures(pair)) for pair in pairs]


def _title(pair: Sequence[KernelRow | None]) -> str:
    return " and ".join(dict.fromkeys(row.name for row in pair if row is not None))


def figures(rows: Sequence[KernelRow | None]) -> list[Figures]:
    """The figures of kernels beside each other, without those that none has."""
    groups = (
        ("Kernel", [dict(_of_kernel(row)) if row else {} for row in rows]),
        ("Share of peak, hit rate, traffic", [dict(_of_units(row)) if row else {} for row in rows]),
        ("Stalls: what warps wait for", [dict(_of_stalls(row)) if row else {} for row in rows]),
    )
    return [
        Figures(
            title=title,
            rows=[(label, [each.get(label, "–") for each in columns]) for label in labels],
        )
        for title, columns in groups
        if (labels := list(dict.fromkeys(label for each in columns for label in each)))
    ]


def _rows(kernels: Sequence[MeasuredKernel]) -> list[KernelRow]:
    by_name: dict[str, list[MeasuredKernel]] = {}
    for kernel in kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    rows = [
        KernelRow(
            kernel=max(same, key=lambda kernel: kernel.duration_us or 0.0),
            launches=len(same),
            total_us=sum(kernel.duration_us or 0.0 for kernel in same),
        )
        for same in by_name.values()
    ]
    return sorted(rows, key=lambda row: -row.total_us)


def _match(row: KernelRow, others: Sequence[KernelRow]) -> KernelRow | None:
    """The kernel of the same full name, else of the same name without arguments."""
    alike = [each for each in others if each.name == row.name]
    same = [each for each in alike if each.kernel.name == row.kernel.name]
    return next(iter(same or alike), None)


def _of_kernel(row: KernelRow) -> Iterator[tuple[str, str]]:
    kernel, rung = row.kernel, row.rung
    yield "Time of the longest launch", microseconds(kernel.duration_us)
    yield "Launches", str(row.launches)
    yield "Share of the roofline", percent(kernel.roofline_share)
    yield "Binding limit", row.limit
    if rung is not None:
        place = f"{rung.number} of 6, {rung.name}" if rung.number else rung.name
        yield "Rung", f"{place}. {capital(rung.seen.removeprefix(f'{row.name}: '))}"
        if rung.next_step:
            yield "Next step", f"{capital(rung.next_step)}."
    if kernel.occupancy is not None:
        limit = kernel.theoretical_occupancy
        of = "" if limit is None else f", of {percent(limit)} possible"
        yield "Occupancy", f"{percent(kernel.occupancy)}{of}"
    if kernel.registers is not None:
        yield "Registers a thread", str(kernel.registers)
    if kernel.waves is not None:
        yield "Waves", f"{kernel.waves:.2f}"


def _of_units(row: KernelRow) -> Iterator[tuple[str, str]]:
    for unit in row.kernel.units:
        yield unit.name, _unit(unit)
    if row.kernel.excess_share is not None:
        yield "Unnecessary sectors", percent(row.kernel.excess_share)
    if row.kernel.conflict_share is not None:
        conflicts = percent(row.kernel.conflict_share)
        yield "Bank conflicts", f"{conflicts} of shared memory’s wavefronts"


def _unit(unit: Unit) -> str:
    parts = [] if unit.peak_share is None else [f"{percent(unit.peak_share)} of its peak"]
    if unit.hit_rate is not None:
        parts.append(f"{tenths(unit.hit_rate)} hits")
    if unit.moved_bytes is not None:
        parts.append(volume(unit.moved_bytes))
    return ", ".join(parts)


def _of_stalls(row: KernelRow) -> Iterator[tuple[str, str]]:
    for stall in row.kernel.stalls:
        cycles = "" if stall.cycles is None else f", {stall.cycles:.1f} cycles an instruction"
        reason = capital(STALLS.get(stall.reason, stall.reason))
        yield reason, f"{tenths(stall.share)}{cycles}"


def _stall(stall: Stall) -> str:
    return f"{STALLS.get(stall.reason, stall.reason)}, {percent(stall.share)}"
