"""The bundle of a run, for its customer."""

from benchmarks import storage
from benchmarks.errors import BenchmarkError
from benchmarks.models import Record, Run
from benchmarks.records import archives
from benchmarks.services import captured_files


def archive(*, run: Run, with_source: bool, why_without: str = "") -> bytes:
    """The ZIP file of a measured run.

    Without the candidate's source, `why_without` explains its absence in the README. Raises
    BenchmarkError for a run without a record, or if the operator's source here differs from the
    sealed one.
    """
    record = Record.objects.filter(run=run).select_related("signed_by").first()
    if record is None:
        raise BenchmarkError("This run has no record yet.", code="bundle.no_record")
    try:
        return archives.archive(
            archives.Contents(
                record=storage.load(record),
                benchmark=run.benchmark.document,
                filename=run.solution.filename,
                source=run.solution.source if with_source else None,
                why_without=why_without,
                captured=captured_files.of(run.benchmark.document),
                public_key=record.signed_by.public_key if record.signed_by else None,
            )
        )
    except archives.OtherSource as error:
        raise BenchmarkError(str(error), code="bundle.other_source") from error
