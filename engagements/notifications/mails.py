"""Outbox of mails: stored in the caller's transaction, sent by a worker.

A mail is stored once for its key and recipient. Sending locks the row, so two workers never send
the same mail; the sweep retries failures with growing delays.
"""

from __future__ import annotations

import logging
import smtplib
import textwrap
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements import access
from engagements.common.queue import enqueue
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.notifications.html_part import with_html
from engagements.notifications.models import MAX_SUBJECT_CHARACTERS, Mail
from engagements.people.models import User

log = logging.getLogger(__name__)
MAX_ATTEMPTS = 12


def write(
    *,
    key: str,
    engagement: Engagement | None,
    recipient: str,
    subject: str,
    body: str,
    document: Document | None = None,
    person: User | None = None,
) -> Mail:
    """Store a mail and enqueue it after commit; `document` is attached as issued.

    Without an engagement it is about `person`'s own account or, without one, for finance.

    Idempotent for `key` (such as contract:17:accepted) and `recipient`. A subject that is too
    long is cut after a word.
    """
    mail, is_new = Mail.objects.get_or_create(
        key=key,
        recipient=recipient,
        defaults={
            "engagement": engagement,
            "subject": textwrap.shorten(subject, MAX_SUBJECT_CHARACTERS, placeholder="…"),
            "body": body,
            "document": document,
            "person": person,
        },
    )
    if is_new:
        enqueue("send_mail", mail.pk)
    return mail


@transaction.atomic
def send(*, mail_id: int) -> bool:
    """Send a mail that is due and not locked by another worker. True when it was sent."""
    mail = (
        Mail.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("document", "engagement__customer", "person")
        .filter(pk=mail_id, sent_at=None)
        .first()
    )
    if mail is None or not _is_due(mail):
        return False
    if not _may_read(mail):
        mail.attempts = MAX_ATTEMPTS
        mail.failure = "The recipient may no longer see this engagement."
        mail.save(update_fields=["attempts", "failure"])
        return False
    mail.attempts += 1
    try:
        _message(mail).send()
    except OSError as error:  # smtplib's errors and those of the network are OSErrors
        mail.failure = f"{type(error).__name__}: {error}"
        if _is_refused(error):
            mail.attempts, mail.bounced_at = MAX_ATTEMPTS, timezone.now()
        mail.save(update_fields=["attempts", "failure", "bounced_at"])
        log.warning("mail %s could not be sent: %s", mail.pk, mail.failure)
        return False
    mail.sent_at, mail.failure = timezone.now(), ""
    mail.save(update_fields=["attempts", "sent_at", "failure"])
    return True


def bounced(engagement: Engagement) -> QuerySet[Mail]:
    """The mails of an engagement that were not delivered, newest first."""
    return engagement.mails.filter(bounced_at__isnull=False).order_by("-bounced_at", "-pk")


def _is_refused(error: OSError) -> bool:
    """Whether the server refused the address for good (5xx): another attempt changes nothing."""
    if not isinstance(error, smtplib.SMTPRecipientsRefused):
        return False
    return all(500 <= code < 600 for code, _ in error.recipients.values())


def waiting() -> list[int]:
    """List the unsent mails with attempts left, by primary key."""
    unsent = Mail.objects.filter(sent_at=None, attempts__lt=MAX_ATTEMPTS)
    return list(unsent.order_by("pk").values_list("pk", flat=True))


def due_at(written_at: datetime, attempts: int) -> datetime:
    """Return the time of the next attempt: at once, then 1, 2, 4 … minutes after writing."""
    return written_at + timedelta(minutes=2 ** (attempts - 1) if attempts else 0)


def _is_due(mail: Mail) -> bool:
    has_attempts = mail.attempts < MAX_ATTEMPTS
    return has_attempts and timezone.now() >= due_at(mail.written_at, mail.attempts)


def _may_read(mail: Mail) -> bool:
    """Whether the recipient may still see the engagement: a mail may wait for hours.

    The customer's billing address may receive its mails; any other address must belong to a
    person who sees the engagement. A mail without an engagement is for its person, who may have
    moved to another address, or for finance.
    """
    if mail.person is not None:
        return mail.person.is_active and mail.person.email == mail.recipient
    person = User.objects.filter(email__iexact=mail.recipient).first()
    if mail.engagement is None:
        return access.sees_money(person)
    if mail.recipient == mail.engagement.customer.invoice_email:
        return True
    return person is not None and (
        access.engagements_for(person).filter(pk=mail.engagement.pk).exists()
    )


def _message(mail: Mail) -> EmailMessage:
    message = EmailMessage(
        subject=mail.subject,
        body=mail.body,
        to=[mail.recipient],
        headers={"Message-ID": f"<mail-{mail.pk}@{_host()}>"},
    )
    if mail.document is not None:
        content = bytes(mail.document.content)
        message.attach(mail.document.filename, content, "application/pdf")
    return with_html(with_footer(message))


def _host() -> str:
    return urlsplit(settings.SITE_ADDRESS).hostname or "localhost"


def with_footer(message: EmailMessage) -> EmailMessage:
    """Append the consultancy's name and address, and direct replies to its address."""
    house = settings.CONSULTANCY
    lines = [house["name"], ", ".join(house["address"].splitlines()), house["email"]]
    footer = "\n".join(filter(None, lines))
    message.body = f"{str(message.body).rstrip()}\n\n-- \n{footer}\n"
    if house["email"]:
        message.reply_to = [house["email"]]
    return message
