"""The outbox stores and sends each mail once; both parties get the accepted contract."""

from __future__ import annotations

import hashlib
import re
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import documents, tasks
from engagements.contracts import mails as contract_mails
from engagements.contracts import offers
from engagements.contracts.models import ContractVersion
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.notifications import mails
from engagements.notifications.models import Mail
from engagements.people.models import Membership, User
from tests.engagements.world import World


@pytest.fixture
def engagement(world: World) -> Engagement:
    opened = world.scoping()
    # The mail about the opening is not what these tests are about.
    Mail.objects.update(sent_at=timezone.now())
    return opened


def write(engagement: Engagement, key: str = "k", **changes: Any) -> Mail:
    fields = {"recipient": engagement.lead.email, "subject": "S", "body": "B"}
    return mails.write(key=key, engagement=engagement, **(fields | changes))


def issued(contract: ContractVersion, act: str = "") -> Document:
    """Store a contract's document without rendering it."""
    content = f"%PDF {contract.pk}{act}".encode()
    return Document.objects.create(
        engagement=contract.engagement,
        kind=Document.Kind.CONTRACT,
        subject=f"contract:{contract.pk}{act}",
        title="Contract",
        filename="contract.pdf",
        content=content,
        size_bytes=len(content),
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
    )


def test_a_mail_is_stored_and_sent_once(engagement: Engagement, mailoutbox: list[Any]) -> None:
    mail = write(engagement)
    assert write(engagement, subject="Another") == mail
    assert write(engagement, recipient="billing@example.com") != mail
    assert mails.send(mail_id=mail.pk)
    assert not mails.send(mail_id=mail.pk)
    (sent,) = mailoutbox
    assert (sent.subject, sent.to) == ("S", [engagement.lead.email])


def test_the_footer_names_the_consultancy_and_replies_reach_it(
    engagement: Engagement, mailoutbox: list[Any], settings: Any
) -> None:
    house = {"name": "Kernels Ltd", "address": "1 Warp Street\nBerlin", "email": ""}
    settings.CONSULTANCY = settings.CONSULTANCY | house
    assert mails.send(mail_id=write(engagement).pk)
    settings.CONSULTANCY = settings.CONSULTANCY | {"email": "people@kernels.example"}
    assert mails.send(mail_id=write(engagement, key="another").pk)
    without, with_email = mailoutbox
    assert without.body == "B\n\n-- \nKernels Ltd\n1 Warp Street, Berlin\n"
    assert without.reply_to == []
    assert with_email.body.endswith("Berlin\npeople@kernels.example\n")
    assert with_email.reply_to == ["people@kernels.example"]


def test_a_long_subject_is_cut_after_a_word(engagement: Engagement) -> None:
    subject = write(
        engagement, subject=f"Invoice INV-2026-0001, {'many words ' * 14}\nlong"
    ).subject
    assert subject.startswith("Invoice INV-2026-0001, many words")
    assert subject.endswith("…")
    assert len(subject) <= 160


def test_a_failed_mail_is_retried_later_and_not_forever(
    engagement: Engagement, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(message: EmailMessage) -> int:
        raise smtplib.SMTPServerDisconnected("gone")

    mail = write(engagement)
    with monkeypatch.context() as patch:
        patch.setattr(EmailMessage, "send", fail)
        assert not mails.send(mail_id=mail.pk)
        mail.refresh_from_db()
        assert (mail.attempts, mail.failure) == (1, "SMTPServerDisconnected: gone")
        # Not yet due again.
        assert not mails.send(mail_id=mail.pk)
        mail.refresh_from_db()
        assert mail.attempts == 1
        Mail.objects.update(attempts=mails.MAX_ATTEMPTS)
        assert mails.waiting() == []
    Mail.objects.update(attempts=1, written_at=timezone.now() - timedelta(hours=1))
    assert mails.waiting() == [mail.pk]
    assert mails.send(mail_id=mail.pk)
    mail.refresh_from_db()
    assert mail.failure == ""
    assert len(mailoutbox) == 1


@pytest.mark.parametrize("ended", ["membership", "account", "address"])
def test_a_waiting_mail_is_not_sent_after_its_recipient_lost_access(
    world: World, engagement: Engagement, mailoutbox: list[Any], ended: str
) -> None:
    waiting = [write(engagement, recipient=each.email) for each in (world.signatory, world.viewer)]
    if ended == "membership":
        Membership.objects.get(user=world.signatory).delete()
    elif ended == "address":
        User.objects.filter(pk=world.signatory.pk).update(email="elsewhere@example.com")
    else:
        User.objects.filter(pk=world.signatory.pk).update(is_active=False)
    assert [mails.send(mail_id=mail.pk) for mail in waiting] == [False, True]
    assert [mail.to for mail in mailoutbox] == [[world.viewer.email]]
    waiting[0].refresh_from_db()
    assert waiting[0].failure
    assert mails.waiting() == []


def test_the_billing_address_needs_no_account(
    world: World, engagement: Engagement, mailoutbox: list[Any]
) -> None:
    engagement.customer.invoice_email = world.stranger.email
    engagement.customer.save()
    assert mails.send(mail_id=write(engagement, recipient=world.stranger.email).pk)


def test_both_parties_are_mailed_the_accepted_contract(world: World, mailoutbox: list[Any]) -> None:
    contract = world.active()
    document = issued(contract, ":accepted")
    assert contract_mails.unsent() == [document]
    contract_mails.write(document=document)
    contract_mails.write(document=document)
    assert contract_mails.unsent() == []
    for mail in Mail.objects.filter(document=document):
        mails.send(mail_id=mail.pk)
    assert {sent.to[0] for sent in mailoutbox} == {world.signatory.email, world.consultant.email}
    for sent in mailoutbox:
        name, content, kind = sent.attachments[0]
        area = "portal/" if sent.to == [world.signatory.email] else "engagements/"
        assert f"http://localhost:8000/{area}{contract.engagement.reference}/" in sent.body
        assert (name, kind) == ("contract.pdf", "application/pdf")
        assert (content if isinstance(content, bytes) else content.encode()) == document.content
        assert contract.digest in sent.body


def test_an_offer_is_mailed_to_signatories(world: World) -> None:
    contract = world.offered()
    [mail] = contract_mails.write(document=issued(contract))
    assert mail.recipient == world.signatory.email


def test_the_mail_of_an_offer_links_to_its_acceptance(
    world: World, client: Client, settings: Any
) -> None:
    settings.SITE_ADDRESS = "https://twofold.example"
    [mail] = contract_mails.write(document=issued(world.offered()))
    [link] = re.findall(r"^https://twofold\.example(/\S+)$", mail.body, re.MULTILINE)
    client.force_login(world.signatory)
    engagement = mail.engagement
    assert engagement is not None
    accept = reverse("portal-contract-accept", args=[engagement.reference, 1])
    assert accept in client.get(link).content.decode()
    client.force_login(world.stranger)
    assert client.get(link).status_code == 404


def test_a_withdrawn_offer_is_not_mailed(world: World) -> None:
    contract = world.offered()
    document = issued(contract)
    offers.withdraw(contract=contract, reason="No.", by=world.consultant)
    assert contract_mails.write(document=document) == []


def test_an_old_document_is_not_mailed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    issued(world.active(), ":accepted")
    later = timezone.now() + timedelta(days=8)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert contract_mails.unsent() == []


def test_only_contracts_are_mailed_here(world: World) -> None:
    document = issued(world.offered())
    document.kind = Document.Kind.AUDIT_REPORT
    assert contract_mails.write(document=document) == []


def test_issuing_the_accepted_contract_mails_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = world.active()
    document = issued(contract, ":accepted")
    monkeypatch.setattr(documents, "issue", lambda kind, subject: document)
    tasks.issue_document("contract", document.subject)
    assert Mail.objects.filter(document=document).count() == 2
