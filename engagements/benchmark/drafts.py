"""benchmark.toml with the workloads of a traffic log that is evidence."""

from __future__ import annotations

import tomllib

from django.http import Http404

from benchmarks.records import benchmark_folders, traffic_workloads
from benchmarks.records.folder_errors import DESCRIPTION, FolderError
from benchmarks.records.traffic_workloads import Logged, ShapeLog
from engagements.benchmark import services as benchmark
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from engagements.evidence.readers import TrafficFacts
from engagements.evidence.services import facts_of


def logs_of(engagement: Engagement) -> list[tuple[int, str]]:
    """The traffic logs of an engagement, by key and name; none before a version is uploaded."""
    if not engagement.benchmark_versions.exists():
        return []
    read = Evidence.objects.filter(
        engagement=engagement, state=Evidence.State.READ, format=Evidence.Format.TRAFFIC
    )
    return list(read.values_list("pk", "name"))


def description_of(engagement: Engagement, pk: int) -> str:
    """The newest version's description with the log's workloads.

    Axes that the log lacks keep the sizes of the first workload. Raises Http404 and
    ApplicationError "folder.log".
    """
    row = Evidence.objects.filter(engagement=engagement, pk=pk).first()
    facts = facts_of(row) if row else None
    version = engagement.benchmark_versions.first()
    if row is None or version is None or not isinstance(facts, TrafficFacts):
        raise Http404("No such traffic log.")
    files = benchmark.files_of(version)
    description = files[DESCRIPTION]
    fixed = tomllib.loads(description)["workloads"][0]["axes"]
    shapes = [
        Logged(
            axes={axis: int(size) for axis, size in each.axes.items() if size.isdecimal()},
            calls=each.calls,
        )
        for each in facts.shapes
    ]
    try:
        drafted = traffic_workloads.draft(ShapeLog(shapes=shapes), fixed=fixed, calls=facts.calls)
        text = traffic_workloads.filled(description, drafted, source=row.name)
        benchmark_folders.document({**files, DESCRIPTION: text})
    except FolderError as error:
        raise ApplicationError(str(error), code=error.code) from error
    return text
