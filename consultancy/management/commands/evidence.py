"""`manage.py evidence add ENGAGEMENT FILE` uploads a file; `evidence show FILE` parses one."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.signing import terminal_user
from engagements.common.errors import ApplicationError
from engagements.evidence.readers import EvidenceError, as_data, read
from engagements.evidence.readers.facts import Facts

UNREADABLE = 2


class Command(BaseCommand):
    help = "Add a profile or a traffic log to an engagement, or show its parsed content."
    # `show` works without a database.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="upload a file, which a worker then parses")
        add.add_argument("engagement", help="the engagement's reference, such as TF-2026-0001")
        add.add_argument("file", type=Path)
        show = actions.add_parser("show", help="parse a file and print it; exit 2 if that fails")
        show.add_argument("file", type=Path)
        show.add_argument("--json", action="store_true", help="print JSON")
        show.add_argument(
            "--summary",
            action="store_true",
            help="print JSON with everything that an upload stores",
        )

    def handle(self, *, action: str, **options: Any) -> None:
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
                    engagement=engagement, name=file.name, content=content, by_name=terminal_user()
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
            self.stdout.write(format_facts(facts))


def format_facts(facts: Facts) -> str:
    """A short text for a terminal."""
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
