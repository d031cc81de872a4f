"""Signatories are reminded of an open offer once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from engagements.contracts import mails
from engagements.contracts.models import Party
from tests.engagements.world import World, days, today


def test_an_offer_is_reminded_of_once_before_it_expires(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    contract = world.offered(valid_until=today() + days(5))
    assert mails.awaiting_reminder() == []
    on_day(today() + days(2))
    assert mails.awaiting_reminder() == [contract]
    (mail,) = mails.remind(contract=contract)
    assert mail.recipient == world.signatory.email
    assert mails.awaiting_reminder() == []


def test_a_signed_offer_is_not_reminded_of(world: World, on_day: Callable[[dt.date], None]) -> None:
    contract = world.offered(valid_until=None)
    on_day(today() + days(8))
    assert mails.awaiting_reminder() == [contract]
    world.accept(contract, Party.CUSTOMER)
    assert mails.awaiting_reminder() == []
    assert mails.remind(contract=contract) == []
