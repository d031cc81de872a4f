"""Password mails: requested on a page, created and sent by a worker.

The page takes the same time and gives the same answer for every address, because only the worker
looks the address up. The link is created when the mail is sent and is stored nowhere.
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
from engagements.notifications.html_part import with_html
from engagements.notifications.mails import due_at, with_footer
from engagements.notifications.models import PasswordMail
from engagements.people.models import User

log = logging.getLogger(__name__)
# After a day the request is stale.
EXPIRES_AFTER = timedelta(days=1)


@transaction.atomic
def request(*, address: str, origin: str, inviter: str = "", party: str = "") -> None:
    """Enqueue a password mail to `address`; its link opens the site at `origin`.

    With `inviter` it is an invitation to the engagements of `party`. Repeated requests before
    sending make one mail.
    """
    row, _ = PasswordMail.objects.get_or_create(
        address=address.lower(),
        defaults={"origin": origin, "inviter": inviter, "party": party},
    )
    enqueue("send_password_mail", row.pk)


@transaction.atomic
def send(*, password_mail_id: int) -> bool:
    """Send a mail that is due, unless its address has no active account. True when sent."""
    row = (
        PasswordMail.objects.select_for_update(skip_locked=True).filter(pk=password_mail_id).first()
    )
    if row is None or timezone.now() < due_at(row.asked_at, row.attempts):
        return False
    person = User.objects.filter(email__iexact=row.address, is_active=True).first()
    if person is None or timezone.now() > row.asked_at + EXPIRES_AFTER:
        row.delete()
        return False
    try:
        _message(row, person).send()
    except OSError as error:  # smtplib's errors and those of the network are OSErrors
        row.attempts += 1
        row.save(update_fields=["attempts"])
        log.warning("a password mail could not be sent: %s", type(error).__name__)
        return False
    row.delete()
    return True


def waiting() -> list[int]:
    """List the unsent requests, by primary key."""
    return list(PasswordMail.objects.order_by("pk").values_list("pk", flat=True))


def _message(row: PasswordMail, person: User) -> EmailMessage:
    key = default_token_generator.make_token(person)
    page = reverse("account_reset_password_from_key", args=[user_pk_to_url_str(person), key])
    context = {
        "user": person,
        "email": person.email,
        "password_reset_url": f"{row.origin}{page}",
        "site": urlsplit(row.origin).netloc,
        "works_for": timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT).days,
        "inviter": row.inviter,
        "party": row.party,
    }
    template = "invitation" if row.inviter else "password_reset_key"
    message: EmailMessage = get_adapter().render_mail(
        f"account/email/{template}", person.email, context
    )
    return with_html(with_footer(message))
