"""An engagement's runs, as pages read them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet, prefetch_related_objects

from benchmarks.models import Record
from engagements.contracts.summary import ContractSummary, versions_for_summary
from engagements.engagement.models import Engagement
from engagements.runs.models import EngagementRun


def record_of(run: EngagementRun) -> Record | None:
    """Return the record of a run (fetched with it), once it has one."""
    return getattr(run.run, "record", None)


def verdict_of(run: EngagementRun) -> str:
    """Return the verdict of a run: of a repeat, its decision, or its record's; "" before it."""
    if awaits_other(run):
        return ""
    record = record_of(run)
    return run.repeat_verdict or run.decision or (record.verdict if record else "")


def awaits_other(run: EngagementRun) -> bool:
    """Whether a run is decided by two measurements, of which one has not ended."""
    return run.counterpart_id is not None and run.concluded_at is None


def runs_for_summary() -> QuerySet[EngagementRun]:
    """Runs with everything that `RunSummary` reads, to prefetch."""
    return EngagementRun.objects.select_related(
        "run__record",
        "run__solution",
        "requested_by",
        "contract_version",
        "counterpart__run__record",
    ).defer("run__solution__source", "contract_version__canonical")


def run_summary_of(engagement: Engagement) -> RunSummary:
    """Return the contract and runs of one engagement, in a constant number of queries."""
    prefetch_related_objects(
        [engagement],
        Prefetch("contracts", queryset=versions_for_summary()),
        Prefetch("runs", queryset=runs_for_summary()),
    )
    return RunSummary(engagement)


@dataclass(frozen=True)
class RunSummary(ContractSummary):
    """The runs of one engagement under its contract."""

    @property
    def runs(self) -> list[EngagementRun]:
        """Every requested run, newest first."""
        return list(self.engagement.runs.all())

    @property
    def open_acceptance(self) -> EngagementRun | None:
        """The acceptance run whose verdict is pending."""
        wanted = EngagementRun.Purpose.ACCEPTANCE
        return next(
            (run for run in self.runs if run.purpose == wanted and run.concluded_at is None), None
        )

    @property
    def attempts_used(self) -> int:
        """How many attempts of the contract are used up."""
        return sum(run.attempt is not None for run in self.runs)

    @property
    def latest_record(self) -> Record | None:
        """The newest record, with a ratio or without."""
        return next((record for run in self.runs if (record := record_of(run))), None)
