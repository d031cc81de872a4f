"""The pages of the ledger: every figure leads to its entries, and what is closed stays closed."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.ledger.models import Entry, Period
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World


@pytest.fixture
def settlement(world: World) -> Settlement:
    """What a missed target led to, after two milestones were paid."""
    return world.settlement()


@pytest.fixture
def read(client: Client, world: World, settlement: Settlement) -> Callable[..., str]:
    """A page of the ledger as finance reads it."""
    client.force_login(world.finance)

    def page(name: str, *args: object, **query: str) -> str:
        response = client.get(reverse(name, args=args), query)
        assert response.status_code == 200, response.content
        return response.content.decode()

    return page


def test_both_sides_of_the_trial_balance_are_the_same(read: Callable[..., str]) -> None:
    page = read("ledger")
    assert "both sides are the same" in page
    assert "The sides differ" not in page
    assert "Fees received that might go back" in page


def test_every_figure_leads_to_its_entries_and_to_the_paper(
    client: Client, world: World, settlement: Settlement, read: Callable[..., str]
) -> None:
    accounts = re.findall(r'href="(/finance/ledger/accounts/[^"]+)"', read("ledger"))
    assert len(accounts) >= 5
    for url in accounts:
        page = client.get(url).content.decode()
        assert re.search(r'href="/finance/ledger/entries/\d+/"', page), url
    for entry in Entry.objects.all():
        page = read("ledger-entry", entry.pk)
        fact = re.search(r'<dt>About</dt><dd><a href="([^"]+)"', page)
        assert fact, entry
        assert client.get(fact[1]).status_code == 200


def test_an_engagement_has_its_own_ledger(
    read: Callable[..., str], world: World, settlement: Settlement
) -> None:
    page = read("ledger-engagement", settlement.contract_version.engagement.reference)
    for shown in ("Audit delivered", "Invoice issued", "Payment received", "Bank"):
        assert shown in page, shown


def test_money_at_risk_falls_away_when_the_refund_is_agreed(
    read: Callable[..., str], world: World, settlement: Settlement
) -> None:
    assert settlement.contract_version.engagement.title in read("money-at-risk")
    settlements.approve(settlement=settlement, by=world.controller)
    assert "Nothing is at risk" in read("money-at-risk")


@pytest.mark.parametrize("name", ["ledger", "money-at-risk"])
def test_tables_come_as_csv(
    client: Client, world: World, settlement: Settlement, name: str
) -> None:
    client.force_login(world.finance)
    response = client.get(reverse(name), {"format": "csv"})
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert b"EUR" in response.content


def test_an_account_is_read_page_by_page(
    client: Client, world: World, settlement: Settlement
) -> None:
    client.force_login(world.finance)
    url = reverse("ledger-account", args=["receivables", "EUR"])
    newest = Entry.objects.filter(legs__account__code="receivables").latest("pk")
    leg = newest.legs.get(account__code="receivables")
    older = client.get(url, {"before": f"{leg.dated_on}.{leg.pk}"}).content.decode()
    assert f"/finance/ledger/entries/{newest.pk}/" not in older
    assert "Newest" in older
    assert client.get(url, {"before": "yesterday"}).status_code == 404


def test_a_month_is_closed_after_it_was_shown_what_that_means(
    client: Client, world: World, settlement: Settlement
) -> None:
    client.force_login(world.finance)
    url = reverse("ledger-close")
    last = timezone.localdate().replace(day=1) - dt.timedelta(days=1)
    shown = client.get(url, {"month": f"{last:%Y-%m}"}).content.decode()
    assert f"Close {last:%B %Y}" in shown
    assert not Period.objects.exists()
    assert client.post(url, {"month": f"{last:%Y-%m}"}).status_code == 302
    assert client.post(url, {"month": f"{last:%Y-%m}"}).status_code == 302
    assert Period.objects.get().month == last.replace(day=1)
    done = client.get(url).content.decode()
    assert "Every month that is over is closed." in done
    assert "form__error" not in done
    again = client.get(url, {"month": f"{last:%Y-%m}"}).content.decode()
    assert f"{last:%B %Y} is closed already." in again


@pytest.mark.parametrize("when", ["now", "nonsense", "2026-13"])
def test_a_month_that_is_not_over_is_not_closed(
    client: Client, world: World, settlement: Settlement, when: str
) -> None:
    client.force_login(world.finance)
    month = f"{timezone.localdate():%Y-%m}" if when == "now" else when
    assert client.post(reverse("ledger-close"), {"month": month}).status_code == 422
    assert not Period.objects.exists()


def exported(client: Client, world: World, **query: str) -> tuple[int, bytes]:
    client.force_login(world.finance)
    month = f"{timezone.localdate():%Y-%m}"
    response = client.get(reverse("ledger-export"), {"first": month, "last": month} | query)
    return response.status_code, response.getvalue()


def test_every_leg_is_exported_as_csv(client: Client, world: World, settlement: Settlement) -> None:
    status, content = exported(client, world, format="csv")
    legs = sum(entry.leg_count for entry in Entry.objects.all())
    assert (status, len(content.decode().splitlines())) == (200, legs + 1)


def test_datev_wants_to_know_whose_books_these_are(
    client: Client, world: World, settlement: Settlement
) -> None:
    status, content = exported(client, world, format="datev", currency="EUR")
    assert status == 422
    assert b"DATEV wants this." in content


def test_a_datev_file_has_its_header_and_adds_up(
    client: Client, world: World, settlement: Settlement
) -> None:
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
