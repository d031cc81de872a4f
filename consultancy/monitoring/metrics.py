"""`/metrics`: the state of the installation, read from the database when Prometheus asks.

The database is the truth for queues, leases, mails and money, so every web replica answers the same
and none keeps counters of its own.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import F, Min, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from benchmarks.jobs import Job, JobState
from benchmarks.models import BenchmarkCheck, Run
from consultancy import health
from consultancy.monitoring import checks
from engagements import documents
from engagements.documents.models import DocumentFailure
from engagements.evidence.models import Evidence
from engagements.ledger import queries as ledger
from engagements.notifications.models import Mail
from engagements.notifications.webhooks.models import WebhookDelivery
from engagements.people.token_models import ApiToken

JOBS: dict[str, type[Job]] = {"run": Run, "benchmark_check": BenchmarkCheck}
# Prometheus asks every replica; the parts are asked once for all of them.
PARTS_TTL_S = 10


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics, for the bearer of TWOFOLD_METRICS_TOKEN; 404 for anyone else."""
    token = settings.TWOFOLD_METRICS_TOKEN
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not token or not hmac.compare_digest(given.encode(), token.encode()):
        raise Http404
    registry = CollectorRegistry()
    registry.register(Installation())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class Installation:
    """Collects every metric. A part that is down is reported as down and breaks no other."""

    def describe(self) -> Iterable[Metric]:
        """None: the names need no queries at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every metric."""
        parts = cache.get_or_set("monitoring-parts", health.parts, PARTS_TTL_S) or {}
        yield _gauge(
            "twofold_part_up", "Whether a part responds: 1 or 0.", "part", _as_numbers(parts)
        )
        if not parts.get("database"):
            return
        yield from _queues()
        yield from _outbox()
        yield from _ledger()
        yield from _checks()
        expiring = ApiToken.objects.filter(revoked_at=None, expires_at__gt=timezone.now())
        yield from _time(
            "twofold_api_token_next_expiry_seconds",
            "When the next API token expires, seconds since 1970.",
            expiring.aggregate(at=Min("expires_at"))["at"],
        )


def _queues() -> Iterator[Metric]:
    waiting: dict[str, float] = {}
    oldest: dict[str, float] = {}
    lost: dict[str, float] = {}
    for name, model in JOBS.items():
        queued = model._base_manager.filter(model.for_workers, state=JobState.QUEUED)
        waiting[name], oldest[name] = queued.count(), _age(queued, "requested_at")
        lost[name] = _lost_leases(model._base_manager.all())
    unread = Evidence.objects.filter(state=Evidence.State.QUEUED)
    waiting["evidence"], oldest["evidence"] = unread.count(), _age(unread, "added_at")
    unsent = Mail.objects.filter(sent_at=None)
    waiting["mail"], oldest["mail"] = unsent.count(), _age(unsent, "written_at")
    waiting["document"] = len(documents.missing())
    yield _gauge("twofold_queue_length", "Jobs that wait for a worker.", "queue", waiting)
    yield _gauge("twofold_queue_age_seconds", "Age of the oldest waiting job.", "queue", oldest)
    yield _gauge("twofold_leases_lost", "Leases lost by workers, of all jobs.", "job", lost)


def _outbox() -> Iterator[Metric]:
    failed = Mail.objects.filter(sent_at=None, attempts__gt=0).count()
    yield GaugeMetricFamily("twofold_mails_failing", "Unsent mails that failed.", value=failed)
    undelivered = WebhookDelivery.objects.exclude(state=WebhookDelivery.State.DELIVERED)
    failed = undelivered.filter(attempts__gt=0, endpoint__closed_at=None).count()
    yield GaugeMetricFamily("twofold_webhooks_failing", "Undelivered messages.", value=failed)
    count = DocumentFailure.objects.count()
    yield GaugeMetricFamily("twofold_documents_failing", "Documents not rendered.", value=count)


def _ledger() -> Iterator[Metric]:
    sides = ledger.totals_by_currency(ledger.trial_balance())
    yield _gauge(
        "twofold_ledger_imbalance",
        "Debits less credits; anything but 0 is an error.",
        "currency",
        {currency: float(debit - credit) for currency, debit, credit in sides},
    )


def _checks() -> Iterator[Metric]:
    latest = checks.latest()
    if latest is None:
        return
    yield GaugeMetricFamily(
        "twofold_integrity_checked_seconds",
        "When the data was last verified, seconds since 1970.",
        value=latest.checked_at,
    )
    yield _gauge(
        "twofold_integrity_faults",
        "Faults found in events, ledger, documents and files.",
        "part",
        {name.replace(" ", "_"): count for name, count in latest.faults.items()},
    )
    if latest.certificate_ends_at is not None:
        yield GaugeMetricFamily(
            "twofold_certificate_expiry_seconds",
            "When the certificate of documents expires, seconds since 1970.",
            value=latest.certificate_ends_at,
        )


def _lost_leases(jobs: QuerySet[Any]) -> int:
    """Attempts beyond the first, and those that ended without a result."""
    return jobs.filter(attempt__gt=1).aggregate(lost=Sum(F("attempt") - 1))["lost"] or 0


def _age(rows: QuerySet[Any], column: str) -> float:
    first = rows.aggregate(first=Min(column))["first"]
    return (timezone.now() - first).total_seconds() if first else 0.0


def _gauge(name: str, text: str, label: str, values: dict[str, Any]) -> Metric:
    metric = GaugeMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        metric.add_metric([key], value)
    return metric


def _time(name: str, text: str, at: datetime | None) -> Iterator[Metric]:
    if at is not None:
        yield GaugeMetricFamily(name, text, value=at.timestamp())


def _as_numbers(parts: dict[str, bool]) -> dict[str, float]:
    return {name: float(up) for name, up in parts.items()}
