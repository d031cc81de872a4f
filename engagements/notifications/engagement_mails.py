"""Mail signatories at the milestones of an engagement.

The mail repeats the event's summary, which the customer also reads in the portal, and links to
the page with the next step. Contracts and invoices have mails of their own.
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
class _Text:
    """The subject of a mail, the line above its link, and the page that the link opens."""

    subject: str
    lead: str
    page: str = "portal-engagement"


TEXTS: Final[Mapping[str, _Text]] = {
    "audit_order.offered": _Text(
        "Audit order to accept", "Read and accept it in the portal:", "portal-audit-order"
    ),
    "audit_order.accepted": _Text(
        "Audit order accepted", "Download the accepted order in the portal:", "portal-audit-order"
    ),
    "audit.delivered": _Text(
        "Audit delivered", "Read the findings of each check in the portal:", "portal-audit"
    ),
    "run.announced": _Text("Acceptance run announced", "Follow the engagement in the portal:"),
    "run.disqualified": _Text("Acceptance run disqualified", "See what it means in the portal:"),
    "run.declared_final": _Text("Final attempt declared", "Read the run in the portal:"),
    "engagement.ended_for_cause": _Text("Contract ended for cause", "See the engagement:"),
    "cooperation.asked": _Text(
        "Something is needed from you", "Provide it, and confirm that in the portal:"
    ),
    "handover.delivered": _Text(
        "Handover to check", "Accept it or state a defect in the portal:", "portal-handover"
    ),
    "handover.accepted": _Text("Handover accepted", "See the engagement in the portal:"),
    "engagement.met": _Text("Target met", "Read the run and its report in the portal:"),
    "engagement.missed": _Text(
        "Target missed: settlement in preparation",
        "We will mail you as soon as the settlement is approved. See the engagement in the portal:",
    ),
    "engagement.resumed": _Text("Target not confirmed: the work goes on", "See the engagement:"),
    "engagement.cancelled": _Text(
        "Engagement cancelled", "Issued documents remain available in the portal:"
    ),
    "settlement.approved": _Text(
        "Settlement approved", "Review its figures and your refund account in the portal:"
    ),
    "settlement.paid": _Text(
        "Settlement paid", "Download the statement in the portal once it is issued:"
    ),
    **{
        f"measurement_dispute.{verb}": _Text(subject, "Read the dispute on the run’s page:")
        for verb, subject in (
            ("raised", "Acceptance run disputed"),
            ("message", "Message about a disputed run"),
            ("withdrawn", "Dispute of a run withdrawn"),
            ("confirmed", "Disputed verdict confirmed"),
            ("replaced", "Disputed verdict replaced"),
            ("source_released", "Source released for a repeat"),
        )
    },
    "settlement.dispute_resolved": _Text("Dispute resolved", "See the next step in the portal:"),
}


def notify(event: Event) -> None:
    """Mail the customer's signatories about `event`, in its transaction, if its verb has a text."""
    text = TEXTS.get(event.verb)
    if text is None or not event.for_customer:
        return
    engagement = event.engagement
    url = links.to_page(text.page, engagement.reference)
    for person in signatories_of(engagement.customer):
        mails.write(
            key=f"event:{engagement.pk}:{event.position}",
            engagement=engagement,
            recipient=person.email,
            subject=f"{text.subject}: {engagement.title}",
            body=f"{engagement.title}\n\n{event.summary}\n\n{text.lead} {url}\n",
        )
