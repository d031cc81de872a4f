"""The HTML part of a mail, made of its text: paragraphs, links, the consultancy's name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.template.loader import render_to_string

URL = re.compile(r"https?://\S+")
FOOTER = "\n\n-- \n"


@dataclass(frozen=True)
class Paragraph:
    """Lines of text, and the link that follows them with the label of its button."""

    lines: list[str]
    url: str = ""
    label: str = ""
    is_title: bool = False


def with_html(message: EmailMessage) -> EmailMultiAlternatives:
    """Return the message with an HTML part that says what its text says."""
    both = EmailMultiAlternatives(
        subject=message.subject,
        body=message.body,
        from_email=message.from_email,
        to=message.to,
        reply_to=message.reply_to,
        headers=message.extra_headers,
        attachments=message.attachments,
    )
    text, _, footer = str(message.body).partition(FOOTER)
    context = {
        "subject": message.subject,
        "paragraphs": paragraphs_of(text),
        "footer": footer.splitlines(),
        "site": settings.SITE_ADDRESS,
    }
    both.attach_alternative(render_to_string("mails/mail.html", context), "text/html")
    return both


def paragraphs_of(text: str) -> list[Paragraph]:
    """Split a text at empty lines; a link becomes the button of its paragraph.

    The line before the link is its label when it is alone and ends with a colon.
    """
    parts = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    return [_paragraph(part, is_first=at == 0 and len(parts) > 1) for at, part in enumerate(parts)]


def _paragraph(text: str, *, is_first: bool) -> Paragraph:
    found = URL.search(text)
    lines = [line for line in (URL.sub("", line).strip() for line in text.splitlines()) if line]
    # The first paragraph names the engagement, unless it is a sentence.
    is_title = is_first and len(lines) == 1 and not found and not lines[0].endswith((".", ",", ":"))
    if not found:
        return Paragraph(lines, is_title=is_title)
    url, label = found.group().rstrip(".,"), "Open the page"
    if len(lines) == 1 and lines[0].endswith(":"):
        lines, label = [], lines[0].removesuffix(":")
    return Paragraph(lines, url, label)
