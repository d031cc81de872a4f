"""Checks behind the metrics: the integrity of the data, the certificate's expiry.

Results are in the shared cache. A restarted broker loses them, and the next hour measures again;
until then the metrics are absent, not zero.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import timedelta

from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from consultancy.backups import integrity
from engagements.documents import certificate

KEY = "monitoring-checks"
INTERVAL = timedelta(hours=24)


@dataclass(frozen=True)
class Checks:
    """The newest results. Times are seconds since 1970; `faults` are by part of the data."""

    checked_at: float
    faults: dict[str, int] = field(default_factory=dict)
    certificate_ends_at: float | None = None


def latest() -> Checks | None:
    """The newest results, or None where nothing was measured."""
    found = cache.get(KEY)
    return Checks(**found) if found else None


def run_when_due() -> bool:
    """Measure, unless that was done within `INTERVAL`; whether it was measured."""
    now = timezone.now().timestamp()
    before = latest()
    if before is not None and now - before.checked_at < INTERVAL.total_seconds():
        return False
    faults = {part.name: len(part.faults) for part in integrity.check()}
    try:
        ends_at = certificate.own().certificate.not_valid_after_utc.timestamp()
    except ImproperlyConfigured:
        ends_at = None
    cache.set(KEY, asdict(Checks(now, faults, ends_at)), timeout=None)
    return True
