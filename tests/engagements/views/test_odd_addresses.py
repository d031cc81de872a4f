"""What anybody can type into an address is answered, never with an error of the server."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.engagements.world import World

BAD_REQUEST = 400


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
    ],
)
def test_no_month_and_no_page_is_too_far_away(client: Client, world: World, address: str) -> None:
    client.force_login(world.finance)
    assert client.get(address).status_code in (200, 404, 422)
