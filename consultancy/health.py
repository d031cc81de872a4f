"""Whether this site can do its work, for load balancers and people."""

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
# The address is open to anybody: asking it a hundred times asks the workers once.
WORKERS_AGE_S = 5


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database and the broker answer, else 503. Names no host.

    `?workers` also counts the workers that listen to each queue. Asking them takes a while,
    and a site without workers still serves its pages, so they do not decide.
    """
    checks = {"database": _database(), "broker": _broker()}
    healthy = all(checks.values())
    said: dict[str, str | dict[str, int]] = {"status": "ok" if healthy else "down"}
    said |= {name: "ok" if fine else "down" for name, fine in checks.items()}
    if "workers" in request.GET and checks["broker"]:
        said["workers"] = cache.get_or_set("healthz-workers", _workers, WORKERS_AGE_S) or {}
    return JsonResponse(said, status=200 if healthy else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError:
        return False


def _broker() -> bool:
    url = settings.CELERY_BROKER_URL
    url = url.replace("redis+socket://", "unix://")
    once = Retry(NoBackoff(), 0)
    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=1, socket_timeout=2, retry=once
        ) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def _workers() -> dict[str, int]:
    listening = celery_app.control.inspect(timeout=1.0).active_queues() or {}
    names = [{queue["name"] for queue in queues} for queues in listening.values()]
    return {queue: sum(queue in listened for listened in names) for queue in QUEUES}
