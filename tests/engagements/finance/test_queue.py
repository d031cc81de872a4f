"""Finance has a queue and a mail for everything that waits for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

from django.test import Client
from django.urls import reverse

from engagements.billing import (
    credit_note_drafts,
    line_proposals,
    payments,
    reconciliation,
    reversals,
    write_offs,
)
from engagements.finance import approvals, closing_checklist, grants
from engagements.notifications.models import Mail
from engagements.payouts import bank_matching, overpayment_refunds
from engagements.settlements import disputes, queues
from engagements.settlements import services as settlements
from engagements.tasks import sweep
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.document_story import unrendered
from tests.engagements.world import World, today

D = Decimal


def mailed(world: World, prefix: str) -> set[str]:
    """The people of finance who got a mail with such a key, by address."""
    mails = Mail.objects.filter(key__startswith=prefix)
    people = {world.finance.email, world.controller.email}
    assert set(mails.values_list("recipient", flat=True)) <= people
    return set(mails.values_list("recipient", flat=True))


def test_proposals_and_disputes_are_mailed_to_the_others_of_finance(world: World) -> None:
    both = {world.finance.email, world.controller.email}
    settlement = world.settlement(dispute_days=14)
    assert mailed(world, "finance:") == both
    Mail.objects.all().delete()
    settlements.approve(settlement=settlement, by=world.finance)
    disputes.raise_dispute(settlement=settlement, reason="Too little.", by=world.signatory)
    assert mailed(world, "finance:") == both
    Mail.objects.all().delete()
    invoice = world.overpaid(D(20))
    overpayment_refunds.propose(invoice=invoice, amount=D(20), by=world.finance)
    # Not to the one who proposed it.
    assert mailed(world, "finance:") == {world.controller.email}


def test_every_approval_waits_in_the_queue_and_is_mailed(client: Client, world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    write_offs.propose(
        invoice=invoice, kind="bad_debt", amount=D(500), reason="x", by=world.finance
    )
    assert mailed(world, "finance:") == {world.controller.email}
    Mail.objects.all().delete()
    note = credit_note_drafts.draft(invoice=invoice, net=D(60), reason="x", by=world.finance)
    assert mailed(world, "finance:") == {world.controller.email}
    Mail.objects.all().delete()
    payment = payments.record(
        invoice=invoice, amount=D(9), received_on=today(), reference="P", by=world.finance
    )
    assert mailed(world, "finance:") == {world.controller.email}
    Mail.objects.all().delete()
    reversal = reversals.propose(
        payment=payment, cause="mistyped", reason="x", dated_on=today(), by=world.finance
    )
    assert mailed(world, "finance:") == {world.controller.email}
    Mail.objects.all().delete()
    grants.propose(user=world.nobody, by=world.admin)
    assert mailed(world, "finance:") == {world.finance.email, world.controller.email}
    last = (today().replace(day=1) - dt.timedelta(days=1)).replace(day=1)
    Mail.objects.all().delete()
    closing_checklist.propose(month=last, note="x", by=world.finance)
    assert mailed(world, "finance:") == {world.controller.email}
    urls = [
        reverse("invoice", args=[invoice.pk]),
        reverse("invoice", args=[note.pk]),
        reverse("reversal", args=[reversal.pk]),
        reverse("payment-record", args=[invoice.pk]),
        reverse("ledger-close"),
        reverse("finance-people"),
    ]
    assert [row.url for row in approvals.waiting()] == urls
    client.force_login(world.controller)
    page = client.get(reverse("finance")).content.decode()
    queue = page[page.index('id="queue"') :]
    assert all(url in queue for url in urls)


def test_a_refund_day_that_is_near_is_mailed_once(
    client: Client, world: World, on_day: Callable[[dt.date], None]
) -> None:
    settlement = world.settlement(refund_days=10)
    assert not queues.refunds_near().exists()
    client.force_login(world.finance)
    on_day(today() + dt.timedelta(days=8))
    with unrendered():
        for _ in range(2):
            sweep()
    key = f"refund-day:{settlement.pk}"
    assert mailed(world, key) == {world.finance.email, world.controller.email}
    assert Mail.objects.filter(key__startswith=key).count() == 2


def test_a_bank_file_with_unmatched_lines_is_mailed(client: Client, world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    certain = imported(world, statement(("14280.00", invoice.reference)))
    bank_matching.match_import(bank_import=certain, by=world.finance)
    # The bank's own line needs no second person.
    proposals = line_proposals.proposals(certain.lines.all())
    assert reconciliation.assign_certain(proposals=proposals, by=world.finance) == (1, [])
    assert mailed(world, "finance:") == mailed(world, "bank-file:") == set()
    row = imported(world, statement(("5.00", "hello"), ("-7.00", "rent")))
    bank_matching.match_import(bank_import=row, by=world.finance)
    assert mailed(world, f"bank-file:{row.pk}") == {world.finance.email, world.controller.email}
    client.force_login(world.finance)
    page = client.get(reverse("finance")).content.decode()
    assert reverse("bank") in page[page.index('id="queue"') :]
