"""`manage.py bundle RUN`: export everything needed to repeat a measurement."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks import bundles
from benchmarks.errors import BenchmarkError
from engagements.runs.bundles import WITHHELD, customer_may_have_source
from engagements.runs.models import EngagementRun


class Command(BaseCommand):
    help = "Write a zip with the benchmark, record, referee and public key of a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="run number, as in the URL of its page")
        parser.add_argument("--out", type=Path, help="output file; default REFERENCE-run-RUN.zip")
        parser.add_argument(
            "--with-source",
            action="store_true",
            help="include the kernel's source even if it is not released to the customer",
        )

    def handle(self, *, run: int, out: Path | None, with_source: bool, **options: Any) -> None:
        request = (
            EngagementRun.objects.select_related(
                "engagement", "run__benchmark", "run__solution", "run__record"
            )
            .filter(pk=run)
            .first()
        )
        if request is None:
            raise CommandError(f"Run {run} does not exist.")
        with_source = with_source or customer_may_have_source(request)
        file = out or Path(f"{request.engagement.reference}-run-{request.pk}.zip")
        try:
            content = bundles.archive(
                run=request.run, with_source=with_source, why_without=WITHHELD
            )
            file.write_bytes(content)
        except (BenchmarkError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{file}{'' if with_source else f': without source. {WITHHELD}'}")
