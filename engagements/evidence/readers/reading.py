"""Read a file of any format: recognise its content, read it, compute facts."""

from __future__ import annotations

from collections.abc import Mapping

from engagements.evidence.readers import chrome_trace, nsight_compute, nsight_systems, recognition
from engagements.evidence.readers.facts import Facts
from engagements.evidence.readers.opening import Opened, Progress, Source, opened
from engagements.evidence.readers.summarising import summarise


def read(
    source: Source,
    name: str = "",
    *,
    patterns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Facts:
    """Return the facts of a file, given by its path or as a stream of bytes.

    The content decides the format, not `name`. `patterns` are additional groups of kernels in a
    trace: regular expressions over kernel names, by group name. EvidenceError when the file cannot
    be read.
    """
    with opened(source, name=name, progress=progress) as file:
        return _facts(file, patterns)


def _facts(file: Opened, patterns: Mapping[str, str] | None) -> Facts:
    match recognition.recognise(file):
        case recognition.CHROME_TRACE:
            return summarise(chrome_trace.record(file), patterns)
        case recognition.NSIGHT_SYSTEMS:
            return summarise(nsight_systems.record(file), patterns)
        case recognition.NSIGHT_COMPUTE:
            return nsight_compute.read(file)
        case _:
            # pandas and pyarrow take a second to import, and nothing else needs them.
            from engagements.evidence.readers import traffic

            return traffic.read(file)
