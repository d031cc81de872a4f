"""Numbers without a gap: one counter a series and year, locked until the transaction ends."""

from __future__ import annotations

from datetime import date

from django.utils import timezone

from engagements.billing.models import Counter


def take(*, series: str) -> tuple[date, int]:
    """Today, and the next number of `series` in today's year.

    Called last before the document is written, in its transaction: whoever wants the next
    number waits until this one is committed or was never given. The day is read under that
    lock, so that numbers follow the days over midnight and New Year's Eve.
    """
    while True:
        year = timezone.localdate().year
        counter = _locked(series, year)
        today = timezone.localdate()
        if today.year == year:
            break
    counter.last += 1
    counter.save(update_fields=["last"])
    return today, counter.last


def reference(*, series: str, year: int, number: int) -> str:
    """A number as it is printed: INV-2026-0001."""
    return f"{series}-{year}-{number:04d}"


def _locked(series: str, year: int) -> Counter:
    counters = Counter.objects.select_for_update().filter(series=series, year=year)
    counter = counters.first()
    if counter is None:
        # Of two who come first in a year, one makes the row and both lock it.
        Counter.objects.bulk_create([Counter(series=series, year=year)], ignore_conflicts=True)
        counter = counters.get()
    return counter
