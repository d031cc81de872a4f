"""`manage.py ledger verify|measure`: verify the totals, or time the ledger pages."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engagements.finance import measuring
from engagements.ledger import queries as ledger

LIMIT_MS = 300


class Command(BaseCommand):
    help = "Verify the stored totals against the legs, or time the ledger pages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("verify", help="recompute every total")
        measure = actions.add_parser(
            "measure", help="time the pages on generated legs, then roll back"
        )
        measure.add_argument("--legs", type=int, default=1_000_000)
        measure.add_argument("--engagements", type=int, default=10_000)

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "measure":
            self._measure(options["legs"], options["engagements"])
        else:
            self._verify()

    def _verify(self) -> None:
        wrong = ledger.wrong_totals()
        for engagement, account, currency, month in wrong:
            self.stderr.write(
                f"engagement {engagement}, account {account}, {currency}, {month:%Y-%m}: "
                "the stored total differs from the sum of its legs"
            )
        uneven = [
            currency
            for currency, debit, credit in ledger.totals_by_currency(ledger.trial_balance())
            if debit != credit
        ]
        if wrong or uneven:
            raise CommandError(
                f"{len(wrong)} totals are wrong; debits and credits differ in {uneven or 'none'}."
            )
        self.stdout.write("All totals match their legs, and debits equal credits.")

    def _measure(self, legs: int, engagements: int) -> None:
        if settings.PRODUCTION:
            raise CommandError(
                "This command does not run in production: it adds legs before it rolls back."
            )
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
