"""`manage.py record add FILE`: keep a record that was measured elsewhere beside its run."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.errors import Refused
from benchmarks.harness.records import records
from benchmarks.services import repetitions
from consultancy.signing import person
from engagements.runs.models import EngagementRun


class Command(BaseCommand):
    """Takes a repeated measurement back in; the run's verdict stays what it is."""

    help = "Keep a record that was measured elsewhere beside the run that it repeats."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and which run it repeats."""
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="take in a record")
        add.add_argument("file", type=Path)
        add.add_argument("--run", type=int, help="the run's number in the address of its page")

    def handle(self, *, file: Path, run: int | None, **options: Any) -> None:
        """Keep it, and say what it shows and who signed it."""
        asked = EngagementRun.objects.select_related("run").filter(pk=run).first() if run else None
        if run and asked is None:
            raise CommandError(f"There is no run {run}.")
        try:
            kept = repetitions.add(
                content=_content(file), by=person(), run=asked.run if asked else None
            )
        except Refused as error:
            raise CommandError(str(error)) from error
        beside = asked or EngagementRun.objects.filter(run=kept.run).first()
        measured = f" {kept.ratio:.2f}x" if kept.ratio is not None else ""
        self.stdout.write(
            f"{kept.verdict}{measured} on {kept.device_name}, {kept.signer}; kept beside "
            f"run {beside.pk if beside else 'of no engagement'}, whose verdict it does not change"
        )


def _content(file: Path) -> bytes:
    try:
        return records.content_of(file)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from error
