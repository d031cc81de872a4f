"""Each mail says what its reader needs: the figure, the day, the account, and the page to open."""

from __future__ import annotations

import re

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engagements.billing import write_offs
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.common.ratios import measured
from engagements.engagement.models import Engagement
from engagements.notifications.events import EVENTS
from engagements.notifications.html_part import with_html
from engagements.notifications.models import Mail
from engagements.payouts import refund_accounts, refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def mail_of(engagement: Engagement, verb: str, *, prefix: str = "event") -> str:
    """The text of the mail about the newest event of `verb`, whose HTML part says the same."""
    position = engagement.events.filter(verb=verb).latest("position").position
    mail = Mail.objects.filter(key=f"{prefix}:{engagement.pk}:{position}").latest("pk")
    [(html, kind)] = with_html(EmailMessage(mail.subject, mail.body)).alternatives
    shown = " ".join(re.sub(r"<[^>]+>", " ", str(html)).split())
    for line in re.sub(r"https?://\S+", "", mail.body).splitlines():
        assert " ".join(line.removesuffix(": ").split()) in shown
    assert kind == "text/html"
    for link in re.findall(r"https?://\S+", mail.body):
        assert f'href="{link}"' in str(html)
    return mail.body


def test_mails_about_a_refund_say_figure_day_and_account(world: World) -> None:
    settlement = world.settlement()
    engagement = settlement.contract_version.engagement
    # Entered by a signatory, and so confirmed.
    account = refund_accounts.add(
        customer=engagement.customer,
        holder="Longprompt GmbH",
        iban="DE02120300000000202051",
        bic="",
        by=world.signatory,
    )
    row = settlements.approve(settlement=settlement, by=world.finance)
    refund = format_money(row.refund, row.currency)
    assert row.refund_due_on is not None

    approved = mail_of(engagement, "settlement.approved")
    for fact in (refund, in_words(row.refund_due_on), account.holder, account.iban[-4:]):
        assert fact in approved
    assert account.iban not in approved

    refunds.mark_paid(settlement=row, reference="B-17", by=world.controller)
    paid = mail_of(engagement, "settlement.paid")
    for fact in (refund, "B-17", account.iban[-4:]):
        assert fact in paid


@pytest.mark.parametrize("verdict", ["met", "missed"])
def test_mails_about_a_verdict_say_the_measured_ratio(world: World, verdict: str) -> None:
    engagement = world.decided(verdict).engagement
    record = engagement.runs.get().run.record
    mail = mail_of(engagement, f"engagement.{verdict}")
    assert record.ratio is not None
    for figure in (record.ratio, record.low, record.high):
        assert measured(figure) in mail


def test_mails_to_finance_open_the_page_of_their_matter(world: World, client: Client) -> None:
    settlement = world.settlement()
    engagement = settlement.contract_version.engagement
    invoice = engagement.invoices.latest("pk")
    client.force_login(world.finance)
    pages = {
        "settlement.proposed": reverse("settlement", args=[settlement.pk]),
        "payment.keyed": reverse("invoice", args=[invoice.pk]),
    }
    for verb, page in pages.items():
        mail = mail_of(engagement, verb, prefix="finance")
        found = re.search(r"https?://[^/\s]+(/\S*)", mail)
        assert found is not None
        assert found[1] == page
        assert client.get(page).status_code == 200
    assert format_money(settlement.refund, settlement.currency) in mail_of(
        engagement, "settlement.proposed", prefix="finance"
    )


def test_a_write_off_to_approve_opens_its_invoice(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.earliest("position"))
    write_offs.propose(
        invoice=invoice,
        kind="bad_debt",
        amount=invoice.gross,
        reason="Insolvent.",
        by=world.finance,
    )
    mail = mail_of(contract.engagement, "write_off.proposed", prefix="finance")
    assert reverse("invoice", args=[invoice.pk]) in mail
    assert format_money(invoice.gross, invoice.currency) in mail


def test_every_mailed_event_leads_to_a_page() -> None:
    for kind in EVENTS.values():
        if kind.portal_lead:
            assert reverse(kind.portal_page, args=["TF-2026-0001"])
        if kind.for_lead:
            assert reverse(kind.staff_page, args=["TF-2026-0001"])
