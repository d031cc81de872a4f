"""A candidate's source on the page of its run: highlighted, with the failing line, and changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engagements.benchmark.sources import Difference, Line, differences, highlighted_lines
from engagements.runs.models import EngagementRun

# "candidate.py line 7" in an error, 'File ".../candidate.py", line 7' in a traceback, and a
# compiler's "candidate.cu(7)".
_PLACES = re.compile(r'candidate\.(?:py|cu)(?:"?,? line |\()(\d+)')


@dataclass(frozen=True, kw_only=True)
class CandidateSource:
    """The lines of a candidate; `failed_line` is None where no error names one."""

    filename: str
    lines: Sequence[Line]
    failed_line: int | None
    previous: EngagementRun | None
    changes: Sequence[Difference]


def source_of(run: EngagementRun) -> CandidateSource:
    """The candidate of a run, against the previous one of the engagement."""
    solution = run.run.solution
    previous = previous_run(run)
    name = solution.filename
    before = {name: previous.run.solution.source} if previous else {}
    return CandidateSource(
        filename=name,
        lines=list(highlighted_lines(name, solution.source)),
        failed_line=failed_line(run),
        previous=previous,
        changes=differences(before, {name: solution.source}) if previous else [],
    )


def failed_line(run: EngagementRun) -> int | None:
    """The line of the candidate at which a failed run ended: the innermost of the error's."""
    measured = run.run
    # The reason names the place that the side found; the log has every frame.
    for text in (measured.failure_reason, measured.log):
        if found := _PLACES.findall(text):
            line = int(found[-1])
            return line if line <= measured.solution.source.count("\n") + 1 else None
    return None


def previous_run(run: EngagementRun) -> EngagementRun | None:
    """The newest earlier run of the engagement with another source of the same operator."""
    return (
        EngagementRun.objects.filter(
            engagement=run.engagement_id,
            pk__lt=run.pk,
            run__solution__operator=run.run.solution.operator,
        )
        .exclude(run__solution__digest=run.run.solution.digest)
        .select_related("run__solution")
        .first()
    )
