"""Ledger pages: figures link to entries, months are closed, exports are complete."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.ledger.models import Entry
from engagements.ledger.period_models import Period
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.sessions import sign_in
from tests.engagements.world import World


@pytest.fixture
def settlement(world: World) -> Settlement:
    """The settlement of a missed target, two milestones paid."""
    return world.settlement()


@pytest.fixture
def read(client: Client, world: World, settlement: Settlement) -> Callable[..., str]:
    """Read a ledger page as finance."""
    client.force_login(world.finance)

    def page(name: str, *args: object, **query: str) -> str:
        response = client.get(reverse(name, args=args), query)
        assert response.status_code == 200, response.content
        return response.content.decode()

    return page


def test_every_balance_links_to_entries_and_their_subjects(
    client: Client, world: World, settlement: Settlement, read: Callable[..., str]
) -> None:
    accounts = re.findall(r'href="(/finance/ledger/accounts/[^"]+)"', read("ledger"))
    assert len(accounts) >= 5
    for url in accounts:
        page = client.get(url).content.decode()
        assert re.search(r'href="/finance/ledger/entries/\d+/"', page), url
    reference = settlement.contract_version.engagement.reference
    page = read("ledger-engagement", reference)
    for entry in Entry.objects.all():
        assert reverse("ledger-entry", args=[entry.pk]) in page
    for entry in Entry.objects.all():
        page = read("ledger-entry", entry.pk)
        subject = re.search(r'<dt>Subject</dt><dd><a href="([^"]+)"', page)
        assert subject, entry
        assert client.get(subject[1]).status_code == 200


def test_an_approved_settlement_ends_the_risk(
    client: Client, read: Callable[..., str], world: World, settlement: Settlement
) -> None:
    for name in ("ledger", "money-at-risk"):
        response = client.get(reverse(name), {"format": "csv"})
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        assert b"EUR" in response.content
    title = settlement.contract_version.engagement.title
    assert title in read("money-at-risk")
    settlements.approve(settlement=settlement, by=world.controller)
    assert title not in read("money-at-risk")


def test_an_account_is_read_page_by_page(
    client: Client, world: World, settlement: Settlement
) -> None:
    client.force_login(world.finance)
    url = reverse("ledger-account", args=["receivables", "EUR"])
    newest = Entry.objects.filter(legs__account__code="receivables").latest("pk")
    leg = newest.legs.get(account__code="receivables")
    older = client.get(url, {"before": f"{leg.dated_on}.{leg.pk}"}).content.decode()
    assert f"/finance/ledger/entries/{newest.pk}/" not in older
    assert client.get(url, {"before": "yesterday"}).status_code == 404


def test_a_month_is_previewed_and_closed_once(
    client: Client, world: World, settlement: Settlement
) -> None:
    client.force_login(world.finance)
    url = reverse("ledger-close")
    last = timezone.localdate().replace(day=1) - dt.timedelta(days=1)
    shown = client.get(url, {"month": f"{last:%Y-%m}"}).content.decode()
    assert f'name="month" value="{last:%Y-%m}"' in shown
    assert not Period.objects.exists()
    posted = {"month": f"{last:%Y-%m}", "note": "The invoice waits for its order number."}
    assert client.post(url, posted).status_code == 302
    assert client.post(url, posted).status_code == 302
    period = Period.objects.get()
    assert (period.month, period.state) == (last.replace(day=1), "proposed")
    approve = reverse("closing-approve", args=[period.pk])
    assert approve not in client.get(url).content.decode()
    sign_in(client, world.controller)
    assert approve in client.get(url).content.decode()
    client.post(approve)
    assert Period.objects.get().state == "closed"
    done = client.get(url).content.decode()
    assert "form__error" not in done
    again = client.get(url, {"month": f"{last:%Y-%m}"}).content.decode()
    assert "form__error" in again


def test_only_a_past_month_is_closed(client: Client, world: World) -> None:
    client.force_login(world.finance)
    for month in (f"{timezone.localdate():%Y-%m}", "nonsense", "2026-13"):
        assert client.post(reverse("ledger-close"), {"month": month}).status_code == 422
    assert not Period.objects.exists()


def exported(client: Client, world: World, **query: str) -> tuple[int, bytes]:
    client.force_login(world.finance)
    month = f"{timezone.localdate():%Y-%m}"
    response = client.get(reverse("ledger-export"), {"first": month, "last": month} | query)
    return response.status_code, response.getvalue()


def test_every_leg_is_exported_as_csv_and_datev(
    client: Client, world: World, settlement: Settlement
) -> None:
    status, content = exported(client, world, format="csv")
    legs = sum(entry.leg_count for entry in Entry.objects.all())
    assert (status, len(content.decode().splitlines())) == (200, legs + 1)
    status, _ = exported(client, world, format="datev", currency="EUR")
    assert status == 422  # without the adviser's and the client's number
    numbers = {"adviser_number": "29098", "client_number": "55003"}
    status, content = exported(client, world, format="datev", currency="EUR", **numbers)
    header, columns, *rows = content.decode("cp1252").split("\r\n")[:-1]
    assert status == 200
    assert header.startswith('"EXTF";700;21;"Buchungsstapel";13;')
    assert header.count(";") == 30
    assert {row.count(";") for row in (columns, *rows)} == {124}
    assert "INV-" in content.decode("cp1252")
    for row in rows:
        amount, side, currency, *_ = row.split(";")
        assert re.fullmatch(r"\d+,\d{2}", amount)
        assert (side, currency) == ('"S"', '"EUR"')
