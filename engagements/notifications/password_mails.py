"""Mails with which one chooses a password: asked for in a page, made and sent by a worker.

Whoever asks is answered the same for any address, and as fast: none is looked up before a worker
does, and no mail server keeps the page waiting. What waits holds no link: it is made when the
mail is, for who has that address then, and is kept nowhere.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from engagements.common.queue import enqueue
from engagements.notifications import letterhead
from engagements.notifications.mails import due_at
from engagements.notifications.models import PasswordMail
from engagements.people.models import User

log = logging.getLogger(__name__)
# Who got none by then has asked again, or given up.
WAITS_FOR = timedelta(days=1)


@transaction.atomic
def ask(*, address: str, origin: str) -> None:
    """Have a mail sent to `address` if somebody has it; its link leads to the site at `origin`.

    Asked again before it went out, it is still one mail.
    """
    asked, _ = PasswordMail.objects.get_or_create(
        address=address.lower(), defaults={"origin": origin}
    )
    enqueue("send_password_mail", asked.pk)


@transaction.atomic
def send(*, password_mail_id: int) -> bool:
    """Send a mail unless it is sent, being sent, or to be tried later. True when it went out."""
    asked = (
        PasswordMail.objects.select_for_update(skip_locked=True).filter(pk=password_mail_id).first()
    )
    if asked is None or timezone.now() < due_at(asked.asked_at, asked.attempts):
        return False
    person = User.objects.filter(email__iexact=asked.address, is_active=True).first()
    if person is None or timezone.now() > asked.asked_at + WAITS_FOR:
        asked.delete()
        return False
    try:
        _message(asked, person).send()
    except OSError as error:  # smtplib's errors and those of the network are OSErrors
        asked.attempts += 1
        asked.save(update_fields=["attempts"])
        log.warning("a mail to choose a password could not be sent: %s", type(error).__name__)
        return False
    asked.delete()
    return True


def waiting() -> list[int]:
    """What was asked for and is not sent yet."""
    return list(PasswordMail.objects.order_by("pk").values_list("pk", flat=True))


def _message(asked: PasswordMail, person: User) -> EmailMessage:
    key = default_token_generator.make_token(person)
    page = reverse("account_reset_password_from_key", args=[user_pk_to_url_str(person), key])
    context = {
        "user": person,
        "email": person.email,
        "password_reset_url": f"{asked.origin}{page}",
        "site": urlsplit(asked.origin).netloc,
        "works_for": timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT).days,
    }
    message: EmailMessage = get_adapter().render_mail(
        "account/email/password_reset_key", person.email, context
    )
    return letterhead.put_on(message)
