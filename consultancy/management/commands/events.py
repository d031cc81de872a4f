"""`manage.py events verify|anchor`: prove the event log whole, or write down where it stands."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from engagements.event_log import anchors
from engagements.event_log import verify as event_log


class Command(BaseCommand):
    """Verifies every chain of events, or anchors them."""

    help = "Verify that no event was changed, removed, put in or moved; or take an anchor."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word, and the anchors that somebody kept."""
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="read the whole log again")
        verify.add_argument(
            "--anchor",
            action="append",
            default=[],
            metavar="DIGEST",
            help="an anchor's digest that was kept elsewhere: it has to be there still",
        )
        actions.add_parser("anchor", help="take an anchor now and print its digest")

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it; a log that is not whole is an error, told break by break."""
        if action == "anchor":
            self._anchor()
        else:
            self._verify(options["anchor"])

    def _anchor(self) -> None:
        anchor = anchors.take()
        if anchor is None:
            self.stdout.write("nothing has happened since the last anchor")
        else:
            self.stdout.write(f"anchor {anchor.number} over {len(anchor.heads)} engagements")
            self.stdout.write(anchor.digest)

    def _verify(self, kept: list[str]) -> None:
        with transaction.atomic():
            if len(connection.savepoint_ids) == 0:
                # One moment for every query; what is written meanwhile is not looked at.
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            report = event_log.verify(kept_anchors=kept)
        for found in report.breaks:
            self.stderr.write(str(found))
        read = (
            f"{report.events} events of {report.engagements} engagements, {report.anchors} anchors"
        )
        if not report.is_whole:
            places = "one place" if len(report.breaks) == 1 else f"{len(report.breaks)} places"
            raise CommandError(f"The log is broken in {places} ({read}).")
        self.stdout.write(f"whole: {read}")
        if report.last_anchor:
            self.stdout.write(f"last anchor: {report.last_anchor}")
