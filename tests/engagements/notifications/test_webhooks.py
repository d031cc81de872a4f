"""Webhooks: signed, retried, replayed, and unable to reach the inside."""

from __future__ import annotations

import ipaddress
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook

from engagements.common.errors import ApplicationError
from engagements.notifications.events import Topic
from engagements.notifications.webhooks import addresses, services
from engagements.notifications.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests.engagements.api_program import Program
from tests.engagements.sessions import sign_in
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/twofold"


class Receiver:
    """Stands in for the internet: answers what it is told, and keeps what it got."""

    def __init__(self) -> None:
        self.status: int | Exception = 204
        self.got: list[tuple[str, bytes, dict[str, str]]] = []

    def __call__(self, url: str, *, body: bytes, headers: dict[str, str]) -> int:
        self.got.append((url, body, headers))
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Receiver:
    stand_in = Receiver()
    monkeypatch.setattr(addresses, "post", stand_in)
    return stand_in


def endpoint(world: World, **changes: Any) -> WebhookEndpoint:
    given: dict[str, Any] = {
        "url": URL,
        "topics": Topic.values,
        "by": world.signatory,
        "customer": world.customer,
    }
    return services.create(**given | changes)


def send_due() -> None:
    for pk in services.waiting():
        services.deliver(delivery_id=pk)


def test_a_customer_is_told_what_the_portal_shows_and_can_verify_it(
    world: World, receiver: Receiver
) -> None:
    theirs = endpoint(world)
    ours = endpoint(world, by=world.admin, customer=None, topics=[Topic.RUNS])
    others = endpoint(world, by=world.stranger, customer=world.other_customer)
    contract = world.active()
    world.request(contract, "trial")
    world.request(contract)
    send_due()
    assert not WebhookDelivery.objects.filter(endpoint=others).exists()
    assert {row.event.for_customer for row in theirs.deliveries.all()} == {True}
    assert [row.event.verb for row in ours.deliveries.all()] == ["run.requested"] * 2
    secret = Webhook(services.secret_of(theirs))
    bodies = [
        secret.verify(body, headers)
        for url, body, headers in receiver.got
        if headers["webhook-id"].startswith(f"msg_{theirs.pk}_")
    ]
    assert {body["data"]["engagement"] for body in bodies} == {contract.engagement.reference}
    assert bodies[-1]["type"] == "run.requested"
    assert not WebhookDelivery.objects.exclude(state="delivered").exists()
    with pytest.raises(Exception, match="signature"):
        Webhook(services.secret_of(ours)).verify(receiver.got[0][1], receiver.got[0][2])


def test_a_failing_endpoint_is_tried_again_ever_later_and_then_fails(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(world, topics=[Topic.ENGAGEMENT])
    world.scoping()
    row = WebhookDelivery.objects.get()
    receiver.status, now = 503, timezone.now()
    for attempt, wait in enumerate([*services.WAITS, None], start=1):
        monkeypatch.setattr(timezone, "now", lambda now=now: now)
        services.deliver(delivery_id=row.pk)
        # Not due yet, so a second message about it sends nothing.
        services.deliver(delivery_id=row.pk)
        row.refresh_from_db()
        assert (len(receiver.got), row.attempts, row.last_status) == (attempt, attempt, 503)
        if wait is not None:
            assert row.next_attempt_at == now + wait
            now += wait
    assert (row.state, row.next_attempt_at) == ("failed", None)
    receiver.status = OSError("connection refused")
    row = services.replay(delivery=row, by=world.signatory)
    services.deliver(delivery_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.last_status, row.last_error) == ("pending", None, "connection refused")
    receiver.status, now = 200, now + timedelta(minutes=1)
    monkeypatch.setattr(timezone, "now", lambda: now)
    services.deliver(delivery_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("delivered", "")
    assert len({headers["webhook-id"] for _, _, headers in receiver.got}) == 1


def test_an_endpoint_that_is_gone_is_removed(world: World, receiver: Receiver) -> None:
    row = endpoint(world, topics=[Topic.ENGAGEMENT])
    receiver.status = 410
    world.scoping()
    send_due()
    row.refresh_from_db()
    assert not row.is_active
    assert row.deliveries.get().state == "failed"
    world.scoping()
    assert row.deliveries.count() == 1


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.8", "172.16.9.9", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1"),
        *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "2001:0:0:1::1"),
        *("fec0::1", "64:ff9b:1::7f00:1", "::127.0.0.1"),
    ],
)
def test_addresses_of_the_inside_are_not_public(address: str) -> None:
    assert not addresses.is_public(ipaddress.ip_address(address))


def test_addresses_of_the_internet_are_public() -> None:
    for address in ("93.184.215.14", "2606:2800:220:1::1", "::ffff:93.184.215.14"):
        assert addresses.is_public(ipaddress.ip_address(address)), address


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.com/", "webhook.url"),
        ("https://user:pass@example.com/", "webhook.url"),
        ("https://[::1", "webhook.url"),
        ("https://127.0.0.1/", "webhook.not_public"),
        ("https://[::ffff:10.0.0.1]/", "webhook.not_public"),
        ("https://localhost/", "webhook.not_public"),
        ("https://db.internal/", "webhook.not_public"),
    ],
)
def test_urls_of_the_inside_are_refused_at_once(world: World, url: str, code: str) -> None:
    with pytest.raises(ApplicationError) as refused:
        endpoint(world, url=url)
    assert refused.value.code == code


def test_a_name_that_resolves_to_the_inside_is_never_connected_to(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one of several addresses, and the connection goes to the address that was checked."""
    asked: list[object] = []

    def resolved(*found: str) -> None:
        rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in found]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)

    def connected(address: object, *_: object, **__: object) -> None:
        asked.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr("urllib3.util.connection.create_connection", connected)
    endpoint(world, topics=[Topic.ENGAGEMENT])
    world.scoping()
    row = WebhookDelivery.objects.get()
    resolved("93.184.215.14", "10.0.0.8")
    services.deliver(delivery_id=row.pk)
    row.refresh_from_db()
    assert (asked, row.last_status) == ([], None)
    assert "not a public address" in row.last_error
    resolved("93.184.215.14")
    WebhookDelivery.objects.update(next_attempt_at=timezone.now())
    services.deliver(delivery_id=row.pk)
    assert asked == [("93.184.215.14", 443)]


def test_webhooks_are_managed_by_api_and_on_a_page(
    client: Client, world: World, receiver: Receiver
) -> None:
    program = Program(world.signatory)
    body = {"url": URL, "topics": ["engagement"], "customer": world.customer.pk}
    made = program.post("webhooks/", body, Idempotency_Key="k")
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert "secret" not in program.rows("webhooks/")[0]
    world.scoping()
    send_due()
    (delivery,) = program.rows("webhook-deliveries/", state="delivered")
    again = program.post(f"webhook-deliveries/{delivery['id']}/replay/")
    assert (again.status_code, again.json()["state"]) == (200, "pending")
    stranger = Program(world.stranger)
    assert stranger.post("webhooks/", body).status_code == 404
    for path in (f"webhooks/{made.json()['id']}/", f"webhook-deliveries/{delivery['id']}/"):
        assert stranger.get(path).status_code == 404
    assert stranger.post(f"webhook-deliveries/{delivery['id']}/replay/").status_code == 404
    assert Program(world.viewer).post("webhooks/", body).status_code == 404
    sign_in(client, world.signatory)
    page = client.get(reverse("webhooks"))
    assert URL in page.content.decode()
    assert "whsec_" not in page.content.decode()
    made_on_page = client.post(reverse("webhook-create"), body)
    assert "whsec_" in made_on_page.content.decode()
    other = Client()
    sign_in(other, world.stranger)
    remove = reverse("webhook-remove", args=[made.json()["id"]])
    assert other.post(remove).status_code == 404
    assert client.post(remove).status_code == 302
    assert program.client.delete(f"/api/v1/webhooks/{made.json()['id']}/").status_code == 204
    assert WebhookEndpoint.objects.filter(closed_at=None).count() == 1
    sign_in(other, world.viewer)
    assert other.get(reverse("webhooks")).status_code == 404
