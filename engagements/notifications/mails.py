"""Mails: written down with what they tell, sent afterwards. The row is the truth.

A mail is written once for its key and recipient, however often it is asked for. Sending takes
the row's lock, so two workers never send the same one; what could not be sent is tried again
by the sweep, less and less often.
"""

from __future__ import annotations

import logging
import textwrap
from datetime import datetime, timedelta

from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.common.queue import enqueue
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.notifications import letterhead
from engagements.notifications.models import MAX_SUBJECT_CHARACTERS, Mail
from engagements.people.models import User

log = logging.getLogger(__name__)
MAX_ATTEMPTS = 12


def write(
    *,
    key: str,
    engagement: Engagement,
    recipient: str,
    subject: str,
    body: str,
    document: Document | None = None,
) -> Mail:
    """Write a mail down in the transaction that wants it; `document` is attached as issued.

    `key` says what it is about, as in contract:17:accepted. Asked twice, nothing changes. A
    subject that is too long for a mail's ends earlier, after a word.
    """
    mail, is_new = Mail.objects.get_or_create(
        key=key,
        recipient=recipient,
        defaults={
            "engagement": engagement,
            "subject": textwrap.shorten(subject, MAX_SUBJECT_CHARACTERS, placeholder="…"),
            "body": body,
            "document": document,
        },
    )
    if is_new:
        enqueue("send_mail", mail.pk)
    return mail


@transaction.atomic
def send(*, mail_id: int) -> bool:
    """Send a mail unless it is sent, being sent, or to be tried later. True when it went out."""
    mail = (
        Mail.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("document", "engagement__customer")
        .filter(pk=mail_id, sent_at=None)
        .first()
    )
    if mail is None or not _is_due(mail):
        return False
    if not _may_read(mail):
        mail.attempts, mail.failure = (
            MAX_ATTEMPTS,
            "The recipient may no longer see this engagement.",
        )
        mail.save(update_fields=["attempts", "failure"])
        return False
    mail.attempts += 1
    try:
        _message(mail).send()
    except OSError as error:  # smtplib's errors and those of the network are OSErrors
        mail.failure = f"{type(error).__name__}: {error}"
        mail.save(update_fields=["attempts", "failure"])
        log.warning("mail %s could not be sent: %s", mail.pk, mail.failure)
        return False
    mail.sent_at, mail.failure = timezone.now(), ""
    mail.save(update_fields=["attempts", "sent_at", "failure"])
    return True


def waiting() -> list[int]:
    """The mails that were not sent yet and may still be tried."""
    unsent = Mail.objects.filter(sent_at=None, attempts__lt=MAX_ATTEMPTS)
    return list(unsent.order_by("pk").values_list("pk", flat=True))


def due_at(written_at: datetime, attempts: int) -> datetime:
    """At once first; then a minute after it was written, two, four, and so on to 17 hours."""
    return written_at + timedelta(minutes=2 ** (attempts - 1) if attempts else 0)


def _is_due(mail: Mail) -> bool:
    is_given_up = mail.attempts >= MAX_ATTEMPTS
    return not is_given_up and timezone.now() >= due_at(mail.written_at, mail.attempts)


def _may_read(mail: Mail) -> bool:
    """Whether the recipient may see the engagement now: a mail may wait for hours.

    The customer's billing address may receive its mails; any other address must belong to a
    person who sees the engagement.
    """
    if mail.recipient == mail.engagement.customer.invoice_email:
        return True
    person = User.objects.filter(email__iexact=mail.recipient).first()
    return person is not None and (
        access.engagements_for(person).filter(pk=mail.engagement_id).exists()
    )


def _message(mail: Mail) -> EmailMessage:
    message = EmailMessage(subject=mail.subject, body=mail.body, to=[mail.recipient])
    if mail.document is not None:
        content = bytes(mail.document.content)
        message.attach(mail.document.filename, content, "application/pdf")
    return letterhead.put_on(message)
