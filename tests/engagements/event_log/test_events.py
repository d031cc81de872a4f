"""The event log says who, when, from where and what, and is never rewritten."""

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
    given: dict[str, Any] = {
        "engagement": world.scoping(),
        "verb": "test.made",
        "summary": "Something happened.",
        "actor": world.consultant,
    }
    return events.record(**given | changes)


def test_what_no_person_did_was_done_by_the_application(world: World) -> None:
    assert record(world, actor=None).actor_name == "Twofold"
    assert record(world).actor_name == "Connie"


def test_a_long_story_is_shortened_to_what_the_log_holds(world: World) -> None:
    assert len(record(world, summary="x" * 400).summary) == 300


def test_history_is_neither_changed_nor_deleted(world: World) -> None:
    event = record(world)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(summary="Nothing happened.")
    with pytest.raises(IntegrityError), transaction.atomic():
        event.delete()


def test_an_event_carries_the_address_of_the_request(world: World) -> None:
    with client_address("192.0.2.9"):
        assert record(world).address == "192.0.2.9"
        assert record(world, address="192.0.2.1").address == "192.0.2.1"
    assert record(world).address is None


def address_seen(**meta: Any) -> str | None:
    seen: list[str | None] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(current_address())
        return HttpResponse()

    ClientAddressMiddleware(view)(RequestFactory().get("/", **meta))
    assert current_address() is None
    return seen[0]


def test_the_address_is_the_connection_s_own(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = None
    forged = {"HTTP_X_FORWARDED_FOR": "203.0.113.5"}
    assert address_seen(REMOTE_ADDR="192.0.2.7", **forged) == "192.0.2.7"
    assert address_seen(REMOTE_ADDR="2001:db8::1") == "2001:db8::1"
    assert address_seen(REMOTE_ADDR="") is None


def test_behind_a_proxy_only_its_own_entry_is_believed(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    forwarded = {"HTTP_X_FORWARDED_FOR": "1.2.3.4, 203.0.113.5"}
    assert address_seen(REMOTE_ADDR="10.0.0.1", **forwarded) == "203.0.113.5"
    assert address_seen(REMOTE_ADDR="10.0.0.1") == "10.0.0.1"
    assert address_seen(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="rubbish") is None
