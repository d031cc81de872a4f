"""`manage.py evidence add ENGAGEMENT FILE` keeps a file; `evidence show FILE` reads one here."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.signing import person
from engagements.common.errors import ApplicationError
from engagements.evidence.readers import EvidenceError, as_data, read
from engagements.evidence.readers.facts import Facts

UNREADABLE = 2


class Command(BaseCommand):
    """Adds evidence to an engagement, and shows what a file says without keeping it."""

    help = "Add a profile or a traffic log to an engagement, or show what one says."
    # `show` works where there is no database.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and with which file."""
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="keep a file and have it read")
        add.add_argument("engagement", help="its reference, as on the board")
        add.add_argument("file", type=Path)
        show = actions.add_parser("show", help="read a file here and now; exit 2 if it cannot be")
        show.add_argument("file", type=Path)
        show.add_argument("--json", action="store_true", help="as JSON")
        show.add_argument(
            "--summary", action="store_true", help="as JSON: everything that would be stored"
        )

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it."""
        if action == "add":
            self._add(options["engagement"], options["file"])
        else:
            self._show(options["file"], as_json=options["json"], whole=options["summary"])

    def _add(self, reference: str, file: Path) -> None:
        from engagements.engagement.models import Engagement
        from engagements.evidence import services as evidence

        engagement = Engagement.objects.filter(reference=reference).first()
        if engagement is None:
            raise CommandError(f"There is no engagement {reference}.")
        try:
            with open(file, "rb") as content:
                kept = evidence.add(
                    engagement=engagement, name=file.name, content=content, by_name=person()
                )
        except (ApplicationError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{kept.name}: {kept.digest}, {kept.get_state_display().lower()}")

    def _show(self, file: Path, *, as_json: bool, whole: bool) -> None:
        try:
            facts = read(file, file.name)
        except EvidenceError as error:
            self.stderr.write(f"{file}: {error}")
            sys.exit(UNREADABLE)
        if whole:
            self.stdout.write(json.dumps(as_data(facts), indent=2))
        elif as_json:
            self.stdout.write(json.dumps(facts.shown(), indent=2, allow_nan=False))
        else:
            self.stdout.write(in_words(facts))


def in_words(facts: Facts) -> str:
    """A few lines for a terminal."""
    shown = facts.shown()
    lines = [f"{name}: {value}" for name, value in shown.items() if not isinstance(value, list)]
    for kernel in shown.get("kernels", [])[:20]:
        name = kernel.pop("name")
        figures = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in kernel.items()
        )
        lines.append(f"  {name[:100]}: {figures}")
    return "\n".join(lines + [f"warning: {text}" for text in facts.warnings])
