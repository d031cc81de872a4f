"""Record a delivery report that the mail server pipes in."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from engagements.notifications import bounces


class Command(BaseCommand):
    """`python manage.py mail_bounce < report.eml`, for a pipe of the mail server."""

    help = "Record the failure that a delivery report (RFC 3464) on standard input tells."

    def handle(self, *args: Any, **options: Any) -> None:
        mail = bounces.take(sys.stdin.buffer.read())
        self.stdout.write(f"Not delivered: {mail}" if mail else "No mail of this site failed.")
