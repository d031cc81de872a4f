"""Health check of the site, for load balancers and people."""

from collections.abc import Callable
from smtplib import SMTPException

import redis
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import storages
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError
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


def parts() -> dict[str, bool]:
    """Which parts respond: database, broker, storage, mail server, workers of each queue.

    Database and broker may respond and yet refuse writes, as with a full disk.
    """
    database, broker = _database_responds(), _broker_responds()
    counts = _count_workers() if broker else {}
    return {
        "database": database,
        "database_writes": database and _database_accepts_writes(),
        "broker": broker,
        "broker_writes": broker and _broker_accepts_writes(),
        "storage": _storage_responds(),
        "mail": _mail_server_responds(),
        **{f"worker_{queue}": bool(counts.get(queue)) for queue in QUEUES},
    }


def _storage_responds() -> bool:
    try:
        storages["records"].exists("health")
    except Exception:  # each storage has errors of its own
        return False
    return True


def _mail_server_responds() -> bool:
    try:
        with get_connection(timeout=2):
            return True
    except (OSError, SMTPException):
        return False


def _database_responds() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError:
        return False


def _database_accepts_writes() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            return bool(cursor.fetchone() == ("off",))
    except DatabaseError:
        return False


def _broker_responds() -> bool:
    return _asks_broker(lambda client: client.ping())


def _broker_accepts_writes() -> bool:
    return _asks_broker(lambda client: client.set("twofold:health", 1, ex=60))


def _asks_broker(question: Callable[[redis.Redis], object]) -> bool:
    url = settings.CELERY_BROKER_URL
    url = url.replace("redis+socket://", "unix://")
    no_retry = Retry(NoBackoff(), 0)
    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=1, socket_timeout=2, retry=no_retry
        ) as client:
            return bool(question(client))
    except (redis.RedisError, OSError):
        return False


def _count_workers() -> dict[str, int]:
    try:
        active = celery_app.control.inspect(timeout=1.0).active_queues() or {}
    except (OperationalError, redis.RedisError, OSError):
        # A full broker responds and takes no message.
        return {}
    consumed = [{queue["name"] for queue in queues} for queues in active.values()]
    return {queue: sum(queue in names for names in consumed) for queue in QUEUES}
