"""What anybody can type into an address or send is answered, never with an error of ours."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.engagements.world import World

BAD_REQUEST = 400
# More digits than Python reads as a number.
LONG = "9" * 4301


@pytest.mark.parametrize(
    "address",
    [
        "/engagements/?q=a%00b",
        "/finance/invoices/?q=%00",
        "/finance/settlements/?q=%00",
        "/finance/ledger/risk/?currency=%00",
        "/finance/ledger/accounts/bank/EUR/?q=%00",
        "/accounts/login/?next=%00",
    ],
)
def test_an_address_with_a_null_byte_is_a_bad_one(
    client: Client, world: World, address: str
) -> None:
    client.force_login(world.finance)
    answer = client.get(address)
    assert answer.status_code == BAD_REQUEST
    assert "Content-Security-Policy" in answer


@pytest.mark.parametrize(
    "address",
    [
        "/finance/ledger/export/?first=9999-12&last=9999-12&format=csv",
        "/finance/ledger/close/?month=9999-12",
        "/finance/ledger/?until=9999-12",
        "/finance/ledger/risk/?from=99999999999999999999",
        "/finance/invoices/?page=99999999999999999999",
        f"/finance/ledger/accounts/bank/EUR/?before=2026-03-31.{LONG}",
    ],
)
def test_no_month_and_no_page_is_too_far_away(client: Client, world: World, address: str) -> None:
    client.force_login(world.finance)
    assert client.get(address).status_code in (200, 404, 422)


@pytest.mark.parametrize("number", ["99999999999999999999", LONG, "²"])
def test_what_was_ticked_and_is_no_row_is_none(client: Client, world: World, number: str) -> None:
    """A hidden field or a box says which row is meant; anybody can send something else in it."""
    reference = world.drafted().engagement.reference
    of_the_engagement = f"/engagements/{reference}/contract"
    milestones = {"milestones-TOTAL_FORMS": number, "do": f"remove-{number}"}
    for who, address, sent, status in (
        (world.finance, "/finance/to-bill/", {"milestone": number}, 422),
        (world.finance, "/finance/to-bill/issue/", {"draft": number}, 302),
        (world.finance, "/finance/settlements/file/", {"settlement": number}, 422),
        (world.finance, "/finance/settlements/file/", {"message": "\0", "settlement": "1"}, 422),
        (world.consultant, f"{of_the_engagement}/terms/", milestones, 200),
        (world.consultant, f"{of_the_engagement}/withdraw/", {"version": number}, 422),
    ):
        client.force_login(who)
        assert client.post(address, sent).status_code == status, (address, sent)
