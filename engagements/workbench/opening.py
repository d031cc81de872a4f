"""Open an engagement, and change its title, workload and lead."""

from __future__ import annotations

from django.db import connection, transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_consultant
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import Customer, User
from engagements.workbench.board_queries import IN_PROGRESS

# Key of the advisory lock that serialises references.
_REFERENCES = 0x7F01


@transaction.atomic
def open_engagement(
    *, customer: Customer, title: str, workload: str, lead: User, by: User
) -> Engagement:
    """Open an engagement in scoping. `workload` is in the customer's words."""
    require_consultant(by)
    _require_lead(lead)
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


@transaction.atomic
def edit(*, engagement: Engagement, title: str, workload: str, lead: User, by: User) -> Engagement:
    """Change title, workload and lead of an engagement that has not ended. Idempotent.

    Sealed contracts and issued documents keep the texts that they copied.
    """
    row = stages.locked(engagement.pk)
    require_consultant(by)
    stages.require_stage(row, *IN_PROGRESS, to="to be changed")
    before = {"title": row.title, "workload": row.workload, "lead": row.lead_id}
    if lead.pk != row.lead_id:
        _require_lead(lead)
    row.title = validation.text(title, noun="The title")
    row.workload = validation.text(workload, noun="The workload")
    row.lead = lead
    after = {"title": row.title, "workload": row.workload, "lead": lead.pk}
    changes = {name: [old, after[name]] for name, old in before.items() if old != after[name]}
    if not changes:
        return row
    validation.save_validated(row)
    texts = " and the ".join(name for name in changes if name != "lead")
    summary = f"The {texts} changed. " if texts else ""
    events.record(
        engagement=row,
        verb="engagement.edited",
        summary=summary + (f"{lead} leads the engagement." if "lead" in changes else ""),
        actor=by,
        changes=changes,
        for_customer=True,
    )
    return row


def _require_lead(lead: User) -> None:
    if not access.is_consultant(lead):
        raise ApplicationError(
            f"{lead} is not a consultant. Choose another lead.", code="engagement.lead_role"
        )


def _next_reference() -> str:
    """Return the next free reference of this year, such as TF-2026-0001, under a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_REFERENCES])
    prefix = f"TF-{timezone.now().year}-"
    taken = Engagement.objects.filter(reference__startswith=prefix).values_list(
        "reference", flat=True
    )
    last = max((int(reference.removeprefix(prefix)) for reference in taken), default=0)
    return f"{prefix}{last + 1:04d}"
