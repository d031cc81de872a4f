"""`manage.py record add FILE`: attach a repeated measurement to its run."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.errors import BenchmarkError
from benchmarks.records import records
from benchmarks.services import repetitions
from consultancy.signing import terminal_user
from engagements.runs.models import EngagementRun


class Command(BaseCommand):
    help = "Attach a record measured elsewhere to the run it repeats, whose verdict stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a record")
        add.add_argument("file", type=Path)
        add.add_argument("--run", type=int, help="run number, as in the URL of its page")

    def handle(self, *, file: Path, run: int | None, **options: Any) -> None:
        request = (
            EngagementRun.objects.select_related("run").filter(pk=run).first() if run else None
        )
        if run and request is None:
            raise CommandError(f"Run {run} does not exist.")
        try:
            record = repetitions.add(
                content=_content(file), by=terminal_user(), run=request.run if request else None
            )
        except BenchmarkError as error:
            raise CommandError(str(error)) from error
        request = request or EngagementRun.objects.filter(run=record.run).first()
        ratio = f" {record.ratio:.2f}×" if record.ratio is not None else ""
        self.stdout.write(
            f"{record.verdict}{ratio} on {record.device_name}, {record.signer}. Attached to "
            f"{f'run {request.pk}' if request else 'a run without engagement'}; "
            "the run's verdict is unchanged."
        )


def _content(file: Path) -> bytes:
    try:
        return records.content_of(file)
    except OSError as error:
        raise CommandError(f"Cannot read {file}: {error.strerror}") from error
