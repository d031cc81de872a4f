"""`Idempotency-Key`: a write that is sent again is answered as the first time.

The key, its request's digest and the answer are stored for the caller in the transaction of the
write. Two requests with one key at once run one after the other: the second waits for the first
at the unique constraint. A write that fails stores nothing, so it may be sent again with the
same key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, connection, transaction
from django.http import QueryDict
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from engagements.api.models import IdempotentRequest
from engagements.common.errors import ApplicationError
from engagements.people.models import User

KEPT_FOR: Final = timedelta(days=7)
MAX_CHARACTERS: Final = 200
WAIT_S: Final = 10

Handler = Callable[..., Response]


def idempotent(handler: Handler) -> Handler:
    """Decorate the handler of a write: it honours `Idempotency-Key`, where it is sent."""

    @wraps(handler)
    def guarded(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return handler(view, request, *args, **kwargs)
        if not (0 < len(key) <= MAX_CHARACTERS and key.isascii() and key.isprintable()):
            raise ApplicationError(
                f"Send an Idempotency-Key of 1 to {MAX_CHARACTERS} printable ASCII characters.",
                code="idempotency.key",
            )
        with transaction.atomic():
            row, is_new = _claim(request, key)
            if not is_new:
                return _again(row, request)
            response = handler(view, request, *args, **kwargs)
            row.status = response.status_code
            row.body = json.loads(JSONRenderer().render(response.data) or "null")
            row.save(update_fields=["status", "body"])
        return response

    guarded.is_idempotent = True  # type: ignore[attr-defined]
    return guarded


def clear_old() -> None:
    """Delete answers that are older than KEPT_FOR."""
    IdempotentRequest.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()


def _claim(request: Request, key: str) -> tuple[IdempotentRequest, bool]:
    """Return the row of this key, and whether this request is the first with it."""
    assert isinstance(request.user, User)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_S}s'")
            row, is_new = IdempotentRequest.objects.get_or_create(
                caller=request.user, key=key, defaults={"digest": _digest(request)}
            )
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except OperationalError as error:
        raise ApplicationError(
            "Another request with this Idempotency-Key is in progress. Try again in a minute.",
            code="idempotency.in_progress",
        ) from error
    return row, is_new


def _again(row: IdempotentRequest, request: Request) -> Response:
    if row.digest != _digest(request):
        raise ApplicationError(
            "This Idempotency-Key was used for another request. Use a new one.",
            code="idempotency.key_reused",
        )
    return Response(row.body, status=row.status, headers={"Idempotent-Replayed": "true"})


def _digest(request: Request) -> str:
    """The digest of method, path and body, whatever encoding a form was sent in."""
    hashed = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    data = request.data
    if isinstance(data, QueryDict):
        for name, values in sorted(data.lists()):
            for value in values:
                hashed.update(f"{name}=".encode() + _content_digest(value))
    else:
        hashed.update(json.dumps(data, sort_keys=True).encode())
    return hashed.hexdigest()


def _content_digest(value: Any) -> bytes:
    if not isinstance(value, UploadedFile):
        return hashlib.sha256(str(value).encode()).digest()
    hashed = hashlib.sha256(str(value.name).encode() + b"\0")
    for chunk in value.chunks():
        hashed.update(chunk)
    value.seek(0)
    return hashed.digest()
