"""The data of the workbench: the chosen profile, one to compare it with, and the traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from engagements.audit.rules.subject import Subject
from engagements.common.integers import whole
from engagements.engagement.models import Engagement
from engagements.evidence.queries import Collected, Read, collected
from engagements.evidence.readers import TraceFacts, TrafficFacts
from engagements.evidence.readers.comparison import Comparison, compare
from engagements.evidence.readers.facts import GroupTime, KernelTime

FIRST = 12
GROUPS = {"module": "Module", "range": "Range", "family": "Family", "pattern": "Pattern"}


@dataclass(frozen=True)
class Bench:
    """The evidence of an engagement, and which of it is looked at.

    `audited` is the profile that the checks go by, which may be another.
    """

    engagement: Engagement
    evidence: Collected
    trace: Read[TraceFacts] | None
    against: Read[TraceFacts] | None
    traffic: Read[TrafficFacts] | None
    audited: Read[TraceFacts] | None

    @property
    def others(self) -> list[Read[TraceFacts]]:
        """The profiles that the one looked at can be set against."""
        return [read for read in self.evidence.traces if read != self.trace]

    @cached_property
    def compared(self) -> Comparison | None:
        """The other profile as it was before, this one after; None without another."""
        if self.trace is None or self.against is None:
            return None
        return compare(self.against.facts, self.trace.facts)

    @property
    def first_kernels(self) -> tuple[KernelTime, ...]:
        """The kernels with the most time."""
        return self.trace.facts.kernels[:FIRST] if self.trace else ()

    @property
    def further_kernels(self) -> tuple[KernelTime, ...]:
        """The rest, folded away."""
        return self.trace.facts.kernels[FIRST:] if self.trace else ()

    @property
    def groups(self) -> list[tuple[str, GroupTime]]:
        """Groups of kernels that may be the operator, with the word for their kind."""
        return [(GROUPS[group.kind], group) for group in self._groups()]

    def _groups(self) -> Iterator[GroupTime]:
        if self.trace:
            facts = self.trace.facts
            # A step is a range too, and no operator.
            steps = {step.name for step in facts.steps}
            ranges = [group for group in facts.ranges if group.name not in steps]
            for kind in (facts.patterns, facts.modules, ranges, facts.families):
                yield from kind[:FIRST]


def bench_of(
    engagement: Engagement, asked: Mapping[str, str], *, subject: Subject | None = None
) -> Bench:
    """The bench as `asked` for: `profile`, `against` and `log` are keys of evidence.

    Where none is asked for, the profile and the log that the `subject` goes by are looked at.
    """
    evidence, set_to = collected(engagement), subject or Subject()
    trace = evidence.trace(whole(asked.get("profile", "")), set_to.trace)
    against = whole(asked.get("against", ""))
    others = [read for read in evidence.traces if read.row.pk == against and read != trace]
    log = evidence.log(whole(asked.get("log", "")), set_to.traffic)
    audited = evidence.trace(None, set_to.trace)
    return Bench(engagement, evidence, trace, next(iter(others), None), log, audited)
