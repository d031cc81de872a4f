"""The daily digest: one mail with the notifications that wait for it."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from engagements.notifications import mails
from engagements.notifications.events import event_type
from engagements.notifications.models import Mail, Notification
from engagements.people.models import User

PERIOD = timedelta(hours=24)


def due() -> list[User]:
    """People with notifications for a digest who had none within the period."""
    waiting = Notification.objects.filter(waits_for_digest=True)
    people = User.objects.filter(pk__in=waiting.values("person"), is_active=True).order_by("pk")
    since = timezone.now() - PERIOD
    had = set(
        Mail.objects.filter(key__startswith="digest:", written_at__gt=since).values_list(
            "person_id", flat=True
        )
    )
    return [person for person in people if person.pk not in had]


@transaction.atomic
def write(*, person: User) -> Mail | None:
    """Write the digest of what `person` has not read yet; None when nothing waits."""
    rows = list(
        Notification.objects.select_for_update(of=("self",))
        .filter(person=person, waits_for_digest=True)
        .select_related("event__engagement")
        .order_by("pk")
    )
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(waits_for_digest=False)
    unread = [row for row in rows if row.read_at is None]
    if not unread:
        return None
    parts = [
        f"{event_type(row.event.verb).title}: {row.event.engagement.title}\n"
        f"{row.event.summary}\n{settings.SITE_ADDRESS}{row.path}"
        for row in unread
    ]
    count = f"{len(unread)} event{'' if len(unread) == 1 else 's'}"
    return mails.write(
        key=f"digest:{person.pk}:{unread[-1].pk}",
        engagement=None,
        person=person,
        recipient=person.email,
        subject=f"Daily digest: {count}",
        body="\n\n".join(parts) + "\n",
    )
