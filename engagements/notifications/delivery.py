"""Notify people about an event: on the site and by mail, as each of them chose.

Called in the transaction that records the event. The registry says whom an event concerns; the
person who caused it is not notified, except of a notice, whose mail is also a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import reverse

from engagements.common import links
from engagements.event_log.models import Event
from engagements.notifications import mails
from engagements.notifications.events import EventType, Topic, event_type
from engagements.notifications.models import Channel, Notification, Preference
from engagements.people.models import Customer, Membership, Role, User
from engagements.people.signatories import signatories_of

# The staff's pages as the label of a mail's link names them.
_PAGE_NAMES = {
    "audit-order": "audit order",
    "engagement-audit": "audit",
    "engagement-benchmark": "benchmark",
    "engagement-contract": "contract",
    "engagement-evidence": "evidence",
    "engagement-time": "time-box",
    "finance": "overview of finance",
    "run-dispute": "dispute",
}
# The page of finance by the key that an event's changes have.
_PAGES_OF_FINANCE = {
    "settlement": "settlement",
    "reversal": "reversal",
    "invoice": "invoice",
}


@dataclass(frozen=True)
class _Letter:
    """A notification to one person: its page, the texts of its mail, and what is the default."""

    person: User
    page: str
    arguments: tuple[object, ...]
    default: Channel
    subject: str
    body: str
    key: str
    is_notice: bool = False


def notify(event: Event) -> None:
    """Notify everyone whom `event` concerns, once. Raises UnknownEvent."""
    kind = event_type(event.verb)
    letters: dict[int, _Letter] = {}
    for letter in _letters(event, kind):
        letters.setdefault(letter.person.pk, letter)
    if letters:
        _deliver(event, list(letters.values()), _channels(kind.topic, letters))


def finance_users(*, but: User | None = None) -> list[User]:
    """The active users with the role finance, by email address."""
    people = User.objects.filter(role=Role.FINANCE, is_active=True)
    if but is not None:
        people = people.exclude(pk=but.pk)
    return list(people.order_by("email"))


def _channels(topic: Topic, letters: Mapping[int, _Letter]) -> dict[int, Channel]:
    """The channel that each person chose for `topic`, or the letter's default."""
    defaults = {person: letter.default for person, letter in letters.items()}
    chosen = Preference.objects.filter(person__in=letters, topic=topic)
    return defaults | {row.person_id: Channel(row.channel) for row in chosen}


def _deliver(event: Event, letters: list[_Letter], channels: Mapping[int, Channel]) -> None:
    notifications = [
        Notification(
            person=letter.person,
            event=event,
            path=reverse(letter.page, args=letter.arguments),
            waits_for_digest=channels[letter.person.pk] == Channel.DIGEST and not letter.is_notice,
        )
        for letter in letters
        if channels[letter.person.pk] != Channel.NONE or letter.is_notice
    ]
    Notification.objects.bulk_create(notifications, ignore_conflicts=True)
    for letter in letters:
        if channels[letter.person.pk] == Channel.MAIL or letter.is_notice:
            mails.write(
                key=letter.key,
                engagement=event.engagement,
                recipient=letter.person.email,
                subject=letter.subject,
                body=letter.body,
            )


def _letters(event: Event, kind: EventType) -> Iterator[_Letter]:
    if event.for_customer and kind.portal_lead:
        yield from _to_customer(event, kind)
    yield from _to_mentioned(event, kind)
    lead = event.engagement.lead
    if kind.for_lead and lead.is_active and lead.pk != event.actor_id:
        yield _to_staff(event, kind, lead, default=Channel.SITE)
    if kind.finance_title:
        for person in finance_users(but=event.actor):
            yield _to_finance(event, kind, person)


def _to_customer(event: Event, kind: EventType) -> Iterator[_Letter]:
    """Signatories by mail; viewers on the site."""
    engagement = event.engagement
    signatories = signatories_of(engagement.customer)
    for person in (*signatories, *_viewers_of(engagement.customer)):
        signs = person in signatories
        if person.pk == event.actor_id and not (signs and kind.is_notice):
            continue
        yield _Letter(
            person=person,
            page=kind.portal_page,
            arguments=(engagement.reference,),
            default=Channel.MAIL if signs and _mails_signatories(kind) else Channel.SITE,
            subject=f"{kind.title}: {engagement.title}",
            body=f"{engagement.title}\n\n{event.summary}\n\n{kind.portal_lead} "
            f"{links.to_page(kind.portal_page, engagement.reference)}\n",
            key=f"event:{engagement.pk}:{event.position}",
            is_notice=kind.is_notice and signs,
        )


def _mails_signatories(kind: EventType) -> bool:
    """Whether signatories are mailed unless they chose otherwise; invoices have their own mail."""
    return kind.topic != Topic.MONEY or kind.is_notice


def _viewers_of(customer: Customer) -> list[User]:
    rows = Membership.objects.filter(
        customer=customer,
        rights=Membership.Rights.VIEWER,
        user__is_active=True,
        user__role=Role.NONE,
        user__is_service=False,
    ).select_related("user")
    return [row.user for row in rows]


def _to_mentioned(event: Event, kind: EventType) -> Iterator[_Letter]:
    """People whom a comment mentions, by mail."""
    mentioned = event.changes.get("mentions")
    if not mentioned:
        return
    for person in User.objects.filter(pk__in=mentioned, is_active=True):
        if person.pk != event.actor_id:
            yield _to_staff(event, kind, person, default=Channel.MAIL)


def _to_staff(event: Event, kind: EventType, person: User, *, default: Channel) -> _Letter:
    engagement = event.engagement
    page = kind.staff_page if person.is_staff_member else kind.portal_page
    return _Letter(
        person=person,
        page=page,
        arguments=(engagement.reference,),
        default=default,
        subject=f"{kind.title}: {engagement.title}",
        body=f"{engagement.reference} {engagement.title}, {engagement.customer}\n\n"
        f"{event.summary}\n\n{_link(page, engagement.reference)}\n",
        key=f"event:{engagement.pk}:{event.position}",
    )


def _to_finance(event: Event, kind: EventType, person: User) -> _Letter:
    engagement = event.engagement
    page, arguments = _page_of_finance(event)
    return _Letter(
        person=person,
        page=page,
        arguments=arguments,
        default=Channel.MAIL,
        subject=f"{kind.finance_title}: {engagement.reference}",
        body=f"{engagement.reference} {engagement.title}, {engagement.customer}\n\n"
        f"{event.summary}\n\n{_link(page, *arguments)}\n",
        key=f"finance:{engagement.pk}:{event.position}",
    )


def _link(page: str, *arguments: object) -> str:
    """A line that names a page, with its address."""
    name = _PAGE_NAMES.get(page, "engagement" if page.startswith("portal") else page)
    return f"Open the {name}: {links.to_page(page, *arguments)}"


def _page_of_finance(event: Event) -> tuple[str, tuple[object, ...]]:
    """The page on which finance acts on an event, and its arguments."""
    if "overpayment_refund" in event.changes:
        return "overpayment", (event.changes["invoice"],)
    for fact, page in _PAGES_OF_FINANCE.items():
        if fact in event.changes:
            return page, (event.changes[fact],)
    if "run" in event.changes:
        return "run-dispute", (event.engagement.reference, event.changes["run"])
    return ("payments", ()) if "payment" in event.changes else ("finance", ())
