"""Read, draw and download a run's record. 404 when its file is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase

from benchmarks import queries as measured
from benchmarks.errors import RecordUnreadable
from engagements.charts import responses
from engagements.runs import bundles
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of


def read(run: EngagementRun) -> tuple[dict[str, Any] | None, str]:
    """Return a measured run's record, or the reason why it cannot be read."""
    try:
        return measured.record_of(run.run), ""
    except RecordUnreadable as error:
        return None, str(error)


def picture(
    request: HttpRequest,
    run: EngagementRun,
    *,
    named: str,
    draw: Callable[[Mapping[str, Any]], str],
) -> HttpResponseBase:
    """Draw a chart of a measured run as SVG. Its ETag is the record's digest."""
    record = record_of(run)
    if record is None:
        raise Http404("This run has no record.")
    with _or_not_found():
        return responses.as_file(
            request,
            of=f"{record.digest}/{named}",
            draw=lambda: draw(measured.record_of(run.run)),
        )


def content(run: EngagementRun, *, with_source: bool) -> bytes:
    """Return the record's bytes as stored, or without the source."""
    with _or_not_found():
        return bundles.record_bytes(run=run, with_source=with_source)


@contextmanager
def _or_not_found() -> Iterator[None]:
    try:
        yield
    except RecordUnreadable as error:
        raise Http404(str(error)) from error
