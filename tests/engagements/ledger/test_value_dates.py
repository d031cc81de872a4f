"""Money that the bank moved is in the ledger on the bank's value date, not on the click's."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.ledger.models import Entry
from engagements.payouts import overpayment_refunds, refunds
from engagements.payouts.models import Transfer
from engagements.settlements import services as settlements
from tests.database_constraints import violates, write
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.payouts.refund_steps import start_refund
from tests.engagements.payouts.test_bank_matching import matched, named, on_its_way
from tests.engagements.world import World, days, today
from tests.errors import declined

Kind = Entry.Kind
OUT, BACK = dt.date(2026, 1, 5), dt.date(2026, 1, 9)


def dates(*kinds: Kind) -> list[dt.date]:
    return [Entry.objects.filter(kind=kind).latest("pk").dated_on for kind in kinds]


def test_a_refund_is_paid_and_returned_on_the_value_dates_of_its_bank_lines(world: World) -> None:
    transfer = on_its_way(world)
    amount = f"{transfer.amount:.2f}"
    matched(world, statement((f"-{amount}", "out"), day=str(OUT), details=named(transfer)))
    assert Transfer.objects.get().valued_on == OUT
    details = named(transfer, reason="AC01")
    matched(world, statement((amount, "back"), day=str(BACK), details=details))
    assert dates(Kind.SETTLEMENT_PAID, Kind.REFUND_RETURNED) == [OUT, BACK]


def test_a_refund_returned_before_it_was_booked_out_is_dated_by_its_line(world: World) -> None:
    transfer = on_its_way(world)
    details = named(transfer, reason="AC01")
    matched(world, statement((f"{transfer.amount:.2f}", "b"), day=str(BACK), details=details))
    assert dates(Kind.SETTLEMENT_FAILED) == [BACK]


def test_an_overpayment_refund_is_paid_and_returned_on_its_value_dates(world: World) -> None:
    refund = start_refund(world, world.overpaid(Decimal(20)), Decimal(20))
    details = f"<Refs><EndToEndId>{overpayment_refunds.end_to_end_id(refund)}</EndToEndId></Refs>"
    matched(world, statement(("-20.00", "out"), day=str(OUT), details=details))
    refund.refresh_from_db()
    assert refund.valued_on == OUT
    back = statement(("20.00", "back"), day=str(BACK), details=details)
    matched(world, back, by=world.finance)
    assert dates(Kind.OVERPAYMENT_REFUND_PAID, Kind.REFUND_RETURNED) == [OUT, BACK]


def test_a_transfer_by_hand_asks_for_its_value_date(client: Client, world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    earlier = today() - days(2)
    for day, code in (
        (today() + days(1), "refund.in_the_future"),
        (earlier, "refund.before_decision"),
    ):
        with declined(code):
            refunds.mark_paid(settlement=row, reference="R", valued_on=day, by=world.finance)
    client.force_login(world.finance)
    form = {"reference": "R", "valued_on": str(today())}
    client.post(reverse("settlement-paid", args=[row.pk]), form)
    transfer = Transfer.objects.get()
    assert (transfer.outcome, transfer.valued_on) == ("paid", today())
    with violates("transfer.ended"):
        write(transfer, valued_on=timezone.localdate() - days(1))
