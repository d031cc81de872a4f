"""Overdue invoices are reminded of at three levels, once each; invoices are mailed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction

from engagements import documents
from engagements.billing import credit_notes, payments, reminders
from engagements.billing import mails as invoice_mails
from engagements.billing.models import Invoice
from engagements.billing.reminder_models import Reminder
from engagements.common import links
from engagements.common.dates import in_words
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones import services as milestones
from engagements.notifications.models import Mail
from tests.engagements.world import World, days, today

OnDay = Callable[[dt.date], None]


@pytest.fixture
def invoice(world: World) -> Invoice:
    return world.invoice(world.active().milestones.get(position=1))


def levels() -> list[int]:
    return list(Reminder.objects.order_by("pk").values_list("level", flat=True))


def remind_all() -> None:
    for row in reminders.due():
        reminders.remind(invoice=row)


def test_each_level_is_sent_once_when_due(invoice: Invoice, on_day: OnDay) -> None:
    assert invoice.due_on is not None
    expected = {6: [], 7: [1], 20: [1], 21: [1, 2], 35: [1, 2, 3], 90: [1, 2, 3]}
    for late, so_far in expected.items():
        on_day(invoice.due_on + days(late))
        for _ in range(2):
            remind_all()
        assert levels() == so_far, late
    subjects = Mail.objects.filter(key__startswith="reminder:").values_list("subject", flat=True)
    assert {subject.partition(":")[0] for subject in subjects} == set(reminders.TITLES.values())
    assert len(subjects) == 3
    assert invoice.engagement.events.filter(verb="invoice.reminded").count() == 3


def test_a_late_worker_sends_one_level_at_a_time(invoice: Invoice, on_day: OnDay) -> None:
    assert invoice.due_on is not None
    for late, so_far in ((60, [1]), (61, [1]), (67, [1, 2]), (74, [1, 2, 3])):
        on_day(invoice.due_on + days(late))
        remind_all()
        assert levels() == so_far


def test_an_invoice_paid_meanwhile_is_not_reminded(
    world: World, invoice: Invoice, on_day: OnDay
) -> None:
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(10))
    [listed] = reminders.due()
    payments.record(
        invoice=invoice,
        amount=invoice.gross,
        received_on=today(),
        reference="P",
        by=world.finance,
    )
    assert reminders.remind(invoice=listed) is None
    assert not Reminder.objects.exists()


def test_a_reminder_states_the_open_amount(world: World, invoice: Invoice, on_day: OnDay) -> None:
    assert invoice.due_on is not None
    credit_notes.credit(invoice=invoice, net=Decimal(2000), reason="Late.")
    on_day(invoice.due_on + days(7))
    remind_all()
    assert Reminder.objects.get().open_amount == Decimal("11900.00")
    body = Mail.objects.get(key__startswith="reminder:").body
    assert "EUR\xa011,900.00" in body
    assert invoice.reference in body
    assert links.to_page("portal-invoices", invoice.engagement.reference) in body


def test_a_settled_engagement_is_not_reminded(world: World, on_day: OnDay) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    unpaid = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    assert contract.settlements.get().refund > 0
    assert unpaid.due_on is not None
    on_day(unpaid.due_on + days(60))
    assert reminders.due() == []


def test_a_reminder_is_never_changed(invoice: Invoice, on_day: OnDay) -> None:
    assert invoice.due_on is not None
    on_day(invoice.due_on + days(7))
    remind_all()
    with pytest.raises(IntegrityError), transaction.atomic():
        Reminder.objects.update(level=3)


def test_an_invoice_is_mailed_once_with_its_pdf(world: World, invoice: Invoice) -> None:
    document = documents.issue(kind="invoice", subject=f"invoice:{invoice.pk}")
    assert document in invoice_mails.unsent()
    for _ in range(2):
        [mail] = invoice_mails.write(document=document)
    assert (mail.recipient, mail.document) == (world.signatory.email, document)
    assert invoice.due_on is not None
    for needed in (settings.BANK_ACCOUNT["iban"], invoice.reference, in_words(invoice.due_on)):
        assert needed in mail.body
    assert document not in invoice_mails.unsent()
    world.customer.invoice_email = "bills@longprompt.example"
    assert invoice_mails.recipients_of(world.customer) == ["bills@longprompt.example"]


def test_a_milestone_that_waits_for_a_date_is_released_when_it_comes(
    world: World, on_day: OnDay
) -> None:
    half = Decimal(24000)
    parts = [
        MilestoneDraft("Now", half, "signed"),
        MilestoneDraft("Later", half, "date", due_on=today() + days(10)),
    ]
    contract = world.active(milestones=parts)
    later = contract.milestones.get(position=2)
    assert milestones.due() == []
    assert milestones.release_due(contract=contract) == []
    on_day(today() + days(10))
    [due] = milestones.due()
    assert milestones.release_due(contract=due) == [later]
    assert milestones.release_due(contract=due) == []
    assert milestones.due() == []
