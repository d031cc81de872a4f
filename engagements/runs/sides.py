"""Both measurements of an acceptance run, as pages, report and API show them."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from benchmarks.models import Record
from benchmarks.records.failure_codes import LABELS
from engagements.common.ratios import with_interval
from engagements.runs.labels import RUN_LABELS, state_of
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of


@dataclass(frozen=True, kw_only=True)
class Side:
    """A party's measurement. `record` is None until it is measured, and where it failed."""

    party: str
    run: EngagementRun
    record: Record | None

    @property
    def label(self) -> str:
        """The verdict of this measurement alone, or its state."""
        if self.record is not None:
            return self.record.get_verdict_display()
        state = RUN_LABELS[state_of(self.run.run)]
        return LABELS.get(self.run.run.failure_code, state)

    @property
    def tone(self) -> str:
        """The value that sets the badge's colour."""
        return state_of(self.run.run) if self.record is None else self.record.verdict

    @property
    def figures(self) -> str:
        """The ratio with its interval; "" without one."""
        record = self.record
        if record is None or record.ratio is None:
            return ""
        return with_interval(record.ratio, record.low, record.high)


def sides_of(run: EngagementRun) -> list[Side]:
    """The consultancy's measurement and the customer's; none where one party measures."""
    asked = run.request
    if asked.counterpart is None:
        return []
    parties = [settings.CONSULTANCY["name"], str(asked.engagement.customer)]
    return [
        Side(party=party, run=each, record=record_of(each))
        for party, each in zip(parties, asked.both, strict=True)
    ]
