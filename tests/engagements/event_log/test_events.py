"""Events record who, when, from where and what; they are never rewritten."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from engagements.common.client_ip import ClientAddressMiddleware, client_address, current_address
from engagements.event_log import events
from engagements.event_log.models import Event
from tests.engagements.world import World


def record(world: World, **changes: Any) -> Event:
    fields: dict[str, Any] = {
        "engagement": world.scoping(),
        "verb": "time.noted",
        "summary": "Something happened.",
        "actor": world.consultant,
    }
    return events.record(**fields | changes)


def test_without_an_actor_the_application_is_named(world: World) -> None:
    assert record(world, actor=None).actor_name == "Twofold"
    assert record(world).actor_name == "Connie"


def test_a_long_summary_is_shortened(world: World) -> None:
    assert len(record(world, summary="x" * 400).summary) == 300


def test_events_cannot_be_changed_or_deleted(world: World) -> None:
    event = record(world)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(summary="Nothing happened.")
    with pytest.raises(IntegrityError), transaction.atomic():
        event.delete()


def test_an_event_records_the_address_of_the_request(world: World) -> None:
    with client_address("192.0.2.9"):
        assert record(world).address == "192.0.2.9"
        assert record(world, address="192.0.2.1").address == "192.0.2.1"
    assert record(world).address is None


def recorded_address(**meta: Any) -> str | None:
    addresses: list[str | None] = []

    def view(request: HttpRequest) -> HttpResponse:
        addresses.append(current_address())
        return HttpResponse()

    ClientAddressMiddleware(view)(RequestFactory().get("/", **meta))
    assert current_address() is None
    return addresses[0]


def test_without_a_proxy_the_connection_names_the_address(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = None
    forged = {"HTTP_X_FORWARDED_FOR": "203.0.113.5"}
    assert recorded_address(REMOTE_ADDR="192.0.2.7", **forged) == "192.0.2.7"
    assert recorded_address(REMOTE_ADDR="2001:db8::1") == "2001:db8::1"
    assert recorded_address(REMOTE_ADDR="") is None


def test_behind_a_proxy_only_its_own_entry_counts(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    forwarded = {"HTTP_X_FORWARDED_FOR": "1.2.3.4, 203.0.113.5"}
    assert recorded_address(REMOTE_ADDR="10.0.0.1", **forwarded) == "203.0.113.5"
    assert recorded_address(REMOTE_ADDR="10.0.0.1") == "10.0.0.1"
    assert recorded_address(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="rubbish") is None
