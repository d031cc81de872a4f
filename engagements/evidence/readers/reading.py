"""One door for every format: recognise the content, read it, make facts of it."""

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
    """The facts of a file, given by its path or as a stream of bytes.

    `name` is only spoken of: the content decides. `patterns` asks a trace for more groups of
    kernels, by name, each an expression (re) that finds something in a kernel's name.
    EvidenceError says in one line why a file cannot be read.
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
