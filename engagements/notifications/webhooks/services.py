"""Webhooks by the Standard Webhooks specification: endpoints, deliveries, retries, replays."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable
from datetime import UTC, timedelta
from http import HTTPStatus
from typing import Final

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from standardwebhooks import Webhook
from urllib3.exceptions import HTTPError

from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.event_log.models import Event
from engagements.notifications.events import Topic, event_type
from engagements.notifications.webhooks import addresses
from engagements.notifications.webhooks.models import WebhookDelivery, WebhookEndpoint
from engagements.people import service_accounts
from engagements.people.models import Customer, Role, User

State = WebhookDelivery.State
MAX_ACTIVE: Final = 10
# Waits after each failed attempt; a message that fails once more has failed.
WAITS: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
)
# Longer than an attempt takes: a killed worker's message is sent again afterwards.
LEASE: Final = timedelta(minutes=2)


def managed_by(user: User) -> QuerySet[WebhookEndpoint]:
    """The endpoints that `user` manages: the consultancy's for admins, a customer's for its
    signatories."""
    rows = WebhookEndpoint.objects.select_related("customer")
    if user.is_active and user.role == Role.ADMIN:
        return rows.filter(customer=None)
    return rows.filter(customer__in=service_accounts.signs_for(user))


@transaction.atomic
def create(
    *, url: str, topics: Iterable[str], by: User, customer: Customer | None = None
) -> WebhookEndpoint:
    """Add an endpoint of `customer`, or of the consultancy without one. Raises ApplicationError."""
    _require_manager(customer, by)
    chosen = sorted(set(topics))
    if not chosen or not set(chosen) <= set(Topic.values):
        raise ApplicationError("Choose at least one of the topics.", code="webhook.topics")
    addresses.check_url(url)
    if WebhookEndpoint.objects.filter(customer=customer, closed_at=None).count() >= MAX_ACTIVE:
        raise ApplicationError(
            f"There are {MAX_ACTIVE} webhooks. Remove one first.", code="webhook.too_many"
        )
    row = WebhookEndpoint(
        customer=customer, url=url, topics=chosen, salt=secrets.token_hex(16), created_by=by
    )
    validation.save_validated(row)
    return row


@transaction.atomic
def close(*, endpoint: WebhookEndpoint, by: User) -> None:
    """Stop sending to an endpoint. Idempotent."""
    _require_manager(endpoint.customer, by)
    _close(endpoint)


def secret_of(endpoint: WebhookEndpoint) -> str:
    """The secret that signs the endpoint's messages, derived from the site's SECRET_KEY."""
    derived = salted_hmac("engagements.webhooks", endpoint.salt, algorithm="sha256").digest()
    return "whsec_" + base64.b64encode(derived).decode()


def notify(event: Event) -> None:
    """Write a delivery to every endpoint that an event concerns, in the event's transaction.

    Customers' endpoints receive the events that the portal shows.
    """
    mine = Q(customer=None)
    if event.for_customer:
        mine |= Q(customer=event.engagement.customer_id)
    topic = event_type(event.verb).topic
    endpoints = WebhookEndpoint.objects.filter(mine, closed_at=None, topics__contains=[topic])
    for endpoint in endpoints:
        row = WebhookDelivery.objects.create(endpoint=endpoint, event=event)
        enqueue("deliver_webhook", row.pk)


def waiting() -> list[int]:
    """The deliveries whose next attempt is due."""
    due = WebhookDelivery.objects.filter(state=State.PENDING, next_attempt_at__lte=timezone.now())
    return list(due.order_by("next_attempt_at").values_list("pk", flat=True)[:200])


def deliver(*, delivery_id: int) -> None:
    """Send a delivery that is due, once. Does nothing where another worker sends it."""
    now = timezone.now()
    due = WebhookDelivery.objects.filter(
        pk=delivery_id, state=State.PENDING, next_attempt_at__lte=now
    )
    if not due.update(attempts=F("attempts") + 1, next_attempt_at=now + LEASE):
        return
    row = WebhookDelivery.objects.select_related("endpoint", "event__engagement").get(
        pk=delivery_id
    )
    if not row.endpoint.is_active:
        _conclude(row, status=None, error="The webhook was removed.", is_final=True)
        return
    try:
        status = addresses.post(row.endpoint.url, body=body_of(row), headers=_headers(row))
    except (ApplicationError, HTTPError, OSError, UnicodeError) as error:
        _conclude(row, status=None, error=str(error) or type(error).__name__)
        return
    if 200 <= status < 300:
        _conclude(row, status=status, error="")
        return
    gone = status == HTTPStatus.GONE
    if gone:
        _close(row.endpoint)
    _conclude(row, status=status, error=f"The endpoint answered {status}.", is_final=gone)


@transaction.atomic
def replay(*, delivery: WebhookDelivery, by: User) -> WebhookDelivery:
    """Send a concluded delivery again, with the same id."""
    row = WebhookDelivery.objects.select_for_update(of=("self",)).get(pk=delivery.pk)
    _require_manager(row.endpoint.customer, by)
    if not row.endpoint.is_active:
        raise ApplicationError("This webhook was removed.", code="webhook.closed")
    if row.state != State.PENDING:
        row.state, row.attempts, row.next_attempt_at = State.PENDING, 0, timezone.now()
        row.save(update_fields=["state", "attempts", "next_attempt_at"])
        enqueue("deliver_webhook", row.pk)
    return row


def body_of(delivery: WebhookDelivery) -> bytes:
    """The message: the event as the portal shows it. Details are read by the API."""
    event = delivery.event
    kind = event_type(event.verb)
    message = {
        "type": event.verb,
        "timestamp": event.happened_at.astimezone(UTC).isoformat(),
        "data": {
            "engagement": event.engagement.reference,
            "position": event.position,
            "title": kind.title,
            "topic": kind.topic,
            "summary": event.summary,
        },
    }
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(delivery: WebhookDelivery) -> dict[str, str]:
    now = timezone.now().astimezone(UTC)
    signer = Webhook(secret_of(delivery.endpoint))
    signature = signer.sign(delivery.message_id, now, body_of(delivery).decode())
    return {
        "Content-Type": "application/json",
        "User-Agent": "Twofold webhooks",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }


def _conclude(
    row: WebhookDelivery, *, status: int | None, error: str, is_final: bool = False
) -> None:
    """Record an attempt. A stale worker, whose row was claimed again, changes nothing."""
    now = timezone.now()
    changes: dict[str, object] = {"last_status": status, "last_error": error[:300]}
    if not error:
        changes |= {"state": State.DELIVERED, "next_attempt_at": None, "delivered_at": now}
    elif is_final or row.attempts > len(WAITS):
        changes |= {"state": State.FAILED, "next_attempt_at": None}
    else:
        changes |= {"next_attempt_at": now + WAITS[row.attempts - 1]}
    WebhookDelivery.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts).update(
        **changes
    )


def _close(endpoint: WebhookEndpoint) -> None:
    WebhookEndpoint.objects.filter(pk=endpoint.pk, closed_at=None).update(closed_at=timezone.now())


def _require_manager(customer: Customer | None, by: User) -> None:
    if customer is None:
        permitted = by.is_active and by.role == Role.ADMIN
    else:
        permitted = service_accounts.signs_for(by).filter(pk=customer.pk).exists()
    if not permitted:
        raise ApplicationError(
            "Only an admin, or a signatory of the customer, manages webhooks.",
            code="webhook.not_permitted",
        )
