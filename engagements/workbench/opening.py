"""Opening an engagement."""

from __future__ import annotations

from django.db import connection, transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_consultant
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import Customer, User

# Names the advisory lock under which references are given out. Any number of our own does.
_REFERENCES = 0x7F01


@transaction.atomic
def open_engagement(
    *, customer: Customer, title: str, workload: str, lead: User, by: User
) -> Engagement:
    """Open an engagement in scoping. `workload` is the customer's own account of the work."""
    require_consultant(by)
    if not access.is_consultant(lead):
        raise ApplicationError(
            f"{lead} is not a consultant. Choose another lead.", code="engagement.lead_role"
        )
    engagement = Engagement(
        reference=_next_reference(),
        customer=customer,
        lead=lead,
        title=validation.text(title, noun="The title"),
        workload=validation.text(workload, noun="The workload"),
    )
    validation.save_validated(engagement)
    events.record(
        engagement=engagement,
        verb="engagement.opened",
        summary=f"The engagement was opened, led by {lead}.",
        actor=by,
        for_customer=True,
    )
    return engagement


def _next_reference() -> str:
    """The next free reference of this year, as in TF-2026-0001.

    Two who ask at once wait for each other, so nobody is refused for a number.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_REFERENCES])
    prefix = f"TF-{timezone.now().year}-"
    taken = Engagement.objects.filter(reference__startswith=prefix).values_list(
        "reference", flat=True
    )
    last = max((int(reference.removeprefix(prefix)) for reference in taken), default=0)
    return f"{prefix}{last + 1:04d}"
