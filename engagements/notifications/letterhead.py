"""From whom a mail comes, as it stands at its foot, and where an answer goes.

A mail may be the first that its reader hears of this site: whoever pays invoices asks who wants
to be paid.
"""

from __future__ import annotations

from django.conf import settings
from django.core.mail import EmailMessage


def put_on(message: EmailMessage) -> EmailMessage:
    """The mail with the consultancy's name and address at its foot; answers reach its people."""
    house = settings.CONSULTANCY
    lines = [house["name"], ", ".join(house["address"].splitlines()), house["email"]]
    foot = "\n".join(filter(None, lines))
    message.body = f"{str(message.body).rstrip()}\n\n-- \n{foot}\n"
    if house["email"]:
        message.reply_to = [house["email"]]
    return message
