"""Choose how to receive the events of a topic."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from engagements.common import validation
from engagements.notifications.events import Topic
from engagements.notifications.models import Channel, Preference
from engagements.people.models import Role, User


@transaction.atomic
def choose(*, person: User, channels: Mapping[Topic, Channel]) -> None:
    """Store the channels that `person` chose. Topics left out keep theirs."""
    for topic, channel in channels.items():
        row = Preference.objects.filter(person=person, topic=topic).first()
        row = row or Preference(person=person, topic=topic)
        row.channel = channel
        validation.save_validated(row)


def chosen(person: User) -> dict[Topic, Channel]:
    """The channel of every topic for `person`: the chosen one, or the default."""
    rows = Preference.objects.filter(person=person).values_list("topic", "channel")
    stored = {Topic(topic): Channel(channel) for topic, channel in rows}
    return {topic: stored.get(topic, _default(person, topic)) for topic in Topic}


def _default(person: User, topic: Topic) -> Channel:
    """The default to show: delivery decides it by event, by mail where a signature may be due."""
    if topic == Topic.DISCUSSION or person.role == Role.FINANCE:
        return Channel.MAIL
    signs = person.memberships.filter(rights="signatory").exists()
    return Channel.MAIL if signs else Channel.SITE
