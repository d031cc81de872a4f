"""The mails of the demonstration, as Django's file backend writes them."""

from __future__ import annotations

import email
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from django.conf import settings

# The backend ends every mail of a file with this line.
END = b"-" * 79
NEWEST = 100


@dataclass(frozen=True)
class ReceivedMail:
    """A mail as its recipient reads it."""

    recipient: str
    subject: str
    sent_at: datetime | None
    body: str
    attachments: tuple[str, ...]


def mails() -> list[ReceivedMail]:
    """The newest mails, newest first; none unless mails are written to files."""
    folder = getattr(settings, "EMAIL_FILE_PATH", None)
    if not folder:
        return []
    files = sorted(Path(folder).glob("*.log"), key=lambda file: file.stat().st_mtime_ns)
    parts = [
        part.strip()
        for file in reversed(files[-NEWEST:])
        for part in reversed(file.read_bytes().split(END))
    ]
    return [_parsed(part) for part in parts if part]


def _parsed(content: bytes) -> ReceivedMail:
    message = email.message_from_bytes(content, policy=default)
    assert isinstance(message, EmailMessage)
    body = message.get_body(("plain",))
    # `-0000`, as Django writes it, is UTC and parsed as naive.
    sent_at = message["date"].datetime if message["date"] else None
    return ReceivedMail(
        recipient=str(message["to"]),
        subject=str(message["subject"]),
        sent_at=sent_at and sent_at.replace(tzinfo=sent_at.tzinfo or UTC),
        body=body.get_content() if body else "",
        attachments=tuple(part.get_filename() or "" for part in message.iter_attachments()),
    )
