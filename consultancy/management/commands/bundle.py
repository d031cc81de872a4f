"""`manage.py bundle RUN`: one archive with which anybody repeats a measurement."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks import bundles
from benchmarks.errors import Refused
from engagements.runs.bundles import WITHHELD, source_is_for_the_customer
from engagements.runs.models import EngagementRun


class Command(BaseCommand):
    """Writes the bundle of a run, as its customer may have it or whole."""

    help = "Write the bundle of a run: benchmark, record, referee and public key in one zip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which run, for whom, where to."""
        parser.add_argument("run", type=int, help="the run's number in the address of its page")
        parser.add_argument("--out", type=Path, help="the file; else REFERENCE-run-RUN.zip here")
        parser.add_argument(
            "--for-house", action="store_true", help="with the kernel's source, whatever came out"
        )

    def handle(self, *, run: int, out: Path | None, for_house: bool, **options: Any) -> None:
        """Write it, and say whether the source is in it."""
        asked = (
            EngagementRun.objects.select_related(
                "engagement", "run__benchmark", "run__solution", "run__record"
            )
            .filter(pk=run)
            .first()
        )
        if asked is None:
            raise CommandError(f"There is no run {run}.")
        with_source = for_house or source_is_for_the_customer(asked)
        file = out or Path(f"{asked.engagement.reference}-run-{asked.pk}.zip")
        try:
            content = bundles.archive(run=asked.run, with_source=with_source, why_without=WITHHELD)
            file.write_bytes(content)
        except (Refused, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{file}{'' if with_source else f': without source. {WITHHELD}'}")
