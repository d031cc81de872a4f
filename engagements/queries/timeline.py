"""What happened in an engagement, newest first."""

from __future__ import annotations

from django.db.models import QuerySet

from engagements.models import Engagement, Event


def timeline(engagement: Engagement, for_customer: bool = False) -> QuerySet[Event]:
    """The events of `engagement`; with `for_customer` those that its customer may read."""
    events = Event.objects.filter(engagement=engagement).select_related("actor")
    return events.filter(for_customer=True) if for_customer else events
