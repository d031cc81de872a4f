"""The turns of an engagement by mail, to those who may bind its customer.

What happened is the event's own sentence, which the customer reads in the portal, too; the mail
leads to the page that says what is next. Contracts and invoices have mails of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engagements.common import links
from engagements.event_log.models import Event
from engagements.notifications import mails
from engagements.people.signatories import signatories_of


@dataclass(frozen=True)
class _Turn:
    """What its mail is called, the sentence in front of the link, and where that leads."""

    subject: str
    told: str
    page: str = "portal-engagement"


TURNS: Final[Mapping[str, _Turn]] = {
    "audit.delivered": _Turn(
        "The audit is delivered",
        "What was found, check by check, and why, stands in the portal:",
        "portal-audit",
    ),
    "engagement.met": _Turn(
        "The target is met",
        "The measured run, the report and what is next stand in the portal:",
    ),
    "engagement.missed": _Turn(
        "What was paid is being settled",
        "You hear from us once the figures are agreed to. The engagement in the portal:",
    ),
    "engagement.cancelled": _Turn(
        "The engagement is cancelled",
        "What was issued so far stays in the portal:",
    ),
    "settlement.approved": _Turn(
        "The settlement is approved",
        "Its figures stand in the portal and, where money goes back, the account it goes to:",
    ),
    "settlement.paid": _Turn(
        "The settlement is done",
        "The statement stands in the portal as soon as it is made:",
    ),
    "settlement.dispute_resolved": _Turn(
        "Your dispute is resolved",
        "How it goes on stands in the portal:",
    ),
}


def tell(event: Event) -> None:
    """Write the mails of this event in its transaction; of one that is no turn there are none."""
    turn = TURNS.get(event.verb)
    if turn is None or not event.for_customer:
        return
    engagement = event.engagement
    where = links.to_page(turn.page, engagement.reference)
    for person in signatories_of(engagement.customer):
        mails.write(
            key=f"event:{engagement.pk}:{event.position}",
            engagement=engagement,
            recipient=person.email,
            subject=f"{turn.subject}: {engagement.title}",
            body=f"{engagement.title}\n\n{event.summary}\n\n{turn.told} {where}\n",
        )
