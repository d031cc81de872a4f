"""`manage.py ledger verify|measure`: totals against legs, and how long pages take at a size."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engagements.finance import measuring
from engagements.ledger import queries as ledger

LIMIT_MS = 300


class Command(BaseCommand):
    """Verifies the ledger's totals, or times its pages."""

    help = "Verify the totals that stand beside the legs, or measure the ledger's pages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word, and for measuring the size."""
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("verify", help="add every leg up again")
        measure = actions.add_parser("measure", help="make legs up, read, and roll back")
        measure.add_argument("--legs", type=int, default=1_000_000)
        measure.add_argument("--engagements", type=int, default=10_000)

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it; wrong totals and pages over the limit are errors."""
        if action == "measure":
            self._measure(options["legs"], options["engagements"])
        else:
            self._verify()

    def _verify(self) -> None:
        wrong = ledger.wrong_totals()
        for engagement, account, currency, month in wrong:
            self.stderr.write(
                f"engagement {engagement}, account {account}, {currency}, {month:%Y-%m}: "
                "the total is not what its legs add up to"
            )
        uneven = [
            currency
            for currency, debit, credit in ledger.totals_by_currency(ledger.trial_balance())
            if debit != credit
        ]
        if wrong or uneven:
            raise CommandError(f"{len(wrong)} totals are wrong; sides differ in {uneven or 'none'}")
        self.stdout.write("every total is what its legs add up to, and both sides are the same")

    def _measure(self, legs: int, engagements: int) -> None:
        if settings.PRODUCTION:
            raise CommandError("Measuring fills the ledger for a moment: not in production.")
        with measuring.made_up(legs=legs, engagements=engagements) as count:
            self.stdout.write(f"{count:,} legs of {engagements:,} engagements")
            measured = measuring.measure_all()
        for page in measured:
            self.stdout.write(f"{page.median_ms:7.1f} ms  {page.query_count} queries  {page.name}")
            for plan in page.plan:
                self.stdout.write(f"              {plan}")
        slow = [page.name for page in measured if page.median_ms > LIMIT_MS]
        if slow:
            raise CommandError(f"Over {LIMIT_MS} ms: {', '.join(slow)}")
