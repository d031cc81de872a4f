"""`manage.py events verify|anchor`: verify the event log, or anchor it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from engagements.event_log import anchors
from engagements.event_log import verify as event_log


class Command(BaseCommand):
    help = "Verify that no event was changed, deleted, inserted or moved; or create an anchor."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="verify the whole log")
        verify.add_argument(
            "--anchor",
            action="append",
            default=[],
            metavar="DIGEST",
            help="digest of an anchor kept elsewhere, which the log must still contain",
        )
        actions.add_parser("anchor", help="create an anchor and print its digest")

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "anchor":
            self._anchor()
        else:
            self._verify(options["anchor"])

    def _anchor(self) -> None:
        anchor = anchors.take()
        if anchor is None:
            self.stdout.write("No events since the last anchor.")
        else:
            self.stdout.write(f"Anchor {anchor.number} covers {len(anchor.heads)} engagements:")
            self.stdout.write(anchor.digest)

    def _verify(self, kept: list[str]) -> None:
        with transaction.atomic():
            if len(connection.savepoint_ids) == 0:
                # One snapshot for every query.
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            report = event_log.verify(kept_anchors=kept)
        for found in report.breaks:
            self.stderr.write(str(found))
        read = (
            f"{report.events} events of {report.engagements} engagements, {report.anchors} anchors"
        )
        if not report.is_intact:
            places = "1 place" if len(report.breaks) == 1 else f"{len(report.breaks)} places"
            raise CommandError(f"The event log is inconsistent in {places} ({read}).")
        self.stdout.write(f"The event log is intact: {read}")
        if report.last_anchor:
            self.stdout.write(f"Last anchor: {report.last_anchor}")
