"""Health check of the site, for load balancers and people."""

import redis
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.backoff import NoBackoff
from redis.retry import Retry

from consultancy.celery import app as celery_app

QUEUES = ("gpu", "documents")
# The URL is public: a burst of requests must not become a burst of broadcasts to the workers.
WORKER_COUNT_TTL_S = 5


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 when the database and the broker respond, else 503. Names no host.

    `?workers` adds the number of workers per queue. It takes up to a second and does not affect
    the status: a site without workers still serves its pages.
    """
    checks = {"database": _database_responds(), "broker": _broker_responds()}
    healthy = all(checks.values())
    result: dict[str, str | dict[str, int]] = {"status": "ok" if healthy else "down"}
    result |= {name: "ok" if passed else "down" for name, passed in checks.items()}
    if "workers" in request.GET and checks["broker"]:
        counts = cache.get_or_set("healthz-workers", _count_workers, WORKER_COUNT_TTL_S)
        result["workers"] = counts or {}
    return JsonResponse(result, status=200 if healthy else 503)


def _database_responds() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError:
        return False


def _broker_responds() -> bool:
    url = settings.CELERY_BROKER_URL
    url = url.replace("redis+socket://", "unix://")
    no_retry = Retry(NoBackoff(), 0)
    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=1, socket_timeout=2, retry=no_retry
        ) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def _count_workers() -> dict[str, int]:
    active = celery_app.control.inspect(timeout=1.0).active_queues() or {}
    consumed = [{queue["name"] for queue in queues} for queues in active.values()]
    return {queue: sum(queue in names for names in consumed) for queue in QUEUES}
