"""Whether this site can do its work, for load balancers and people."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.backoff import NoBackoff
from redis.retry import Retry


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database and the broker answer, else 503. Names no host."""
    checks = {"database": _database(), "broker": _broker()}
    healthy = all(checks.values())
    words = {name: "ok" if fine else "down" for name, fine in checks.items()}
    return JsonResponse(
        {"status": "ok" if healthy else "down", **words}, status=200 if healthy else 503
    )


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
