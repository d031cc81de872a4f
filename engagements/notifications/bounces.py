"""Keep the bounces of mails: a delivery report names the mail by its Message-ID."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import EmailMessage as ParsedMail

from django.db import transaction
from django.utils import timezone

from engagements.notifications.models import Mail

# The header that `mails` sets, quoted by every report: <mail-17@host>.
MESSAGE_ID = re.compile(r"<mail-(\d+)@[^>\s]+>")
MAX_REASON = 1000


@transaction.atomic
def take(content: bytes) -> Mail | None:
    """Record the failure that a delivery report (RFC 3464) tells; None where it tells none.

    Idempotent: a report taken again changes nothing. A delayed mail has not failed.
    """
    report = email.message_from_bytes(content, policy=email.policy.default)
    failed = _failed_recipient(report)
    found = MESSAGE_ID.search(content.decode("utf-8", errors="replace"))
    if failed is None or found is None:
        return None
    mail = Mail.objects.select_for_update(of=("self",)).filter(pk=int(found.group(1))).first()
    if mail is None or mail.recipient.casefold() != failed[0].casefold():
        return None
    if mail.bounced_at is None:
        mail.bounced_at, mail.failure = timezone.now(), failed[1][:MAX_REASON]
        mail.save(update_fields=["bounced_at", "failure"])
    return mail


def _failed_recipient(report: ParsedMail) -> tuple[str, str] | None:
    """The address that a report says has failed, and its reason."""
    for part in report.walk():
        if part.get_content_type() != "message/delivery-status":
            continue
        for block in part.iter_parts() if part.is_multipart() else ():
            address = str(block.get("Final-Recipient", "")).partition(";")[2].strip()
            if address and str(block.get("Action", "")).strip().lower() == "failed":
                reason = str(block.get("Diagnostic-Code", "") or block.get("Status", ""))
                return address, " ".join(reason.split()) or "The mail could not be delivered."
    return None
