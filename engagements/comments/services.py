"""Write comments, and find the people whom they mention."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from engagements import access
from engagements.comments.models import MAX_CHARACTERS, Comment
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import Role, User
from engagements.runs.models import EngagementRun

SHOWN_IN_LOG = 200


@transaction.atomic
def add(
    *,
    engagement: Engagement,
    text: str,
    by: User,
    run: EngagementRun | None = None,
    is_internal: bool = False,
) -> Comment:
    """Write a comment and notify the other side and everyone whom it mentions.

    People of the customer write no internal comments, and none on a trial. Idempotent for a text
    that is the author's newest comment in the same place.
    """
    is_staff = access.is_staff_member(by)
    if not access.engagements_for(by).filter(pk=engagement.pk).exists():
        raise ApplicationError("No such engagement.", code="comment.not_permitted")
    if run is not None and (
        run.engagement_id != engagement.pk or not (is_staff or run.purpose == "acceptance")
    ):
        raise ApplicationError("No such run.", code="comment.run")
    text = validation.text(text, noun="The comment")
    if len(text) > MAX_CHARACTERS:
        raise ApplicationError(
            f"Shorten the comment to {MAX_CHARACTERS} characters.", code="comment.too_long"
        )
    is_internal = is_internal and is_staff
    newest = Comment.objects.filter(engagement=engagement, run=run).last()
    if newest is not None and (newest.text, newest.author_id) == (text, by.pk):
        return newest
    row = Comment(engagement=engagement, run=run, text=text, author=by, is_internal=is_internal)
    validation.save_validated(row)
    shown = " ".join(text.split())
    events.record(
        engagement=engagement,
        verb="comment.added",
        summary=f"{by}: {shown[:SHOWN_IN_LOG]}{'…' if len(shown) > SHOWN_IN_LOG else ''}",
        actor=by,
        changes={
            "comment": row.pk,
            "run": run.pk if run else None,
            "mentions": [person.pk for person in mentioned(row)],
        },
        for_customer=not is_internal and (run is None or run.purpose == "acceptance"),
    )
    return row


def comments_of(
    engagement: Engagement, *, user: access.Person, run: EngagementRun | None = None
) -> QuerySet[Comment]:
    """The comments on an engagement or on one run that `user` may read, oldest first."""
    rows = Comment.objects.filter(engagement=engagement, run=run).select_related("author")
    return rows if access.is_staff_member(user) else rows.filter(is_internal=False)


def people_of(engagement: Engagement, *, is_internal: bool = False) -> list[User]:
    """The people who may be mentioned: staff, and the customer's unless the comment is internal."""
    people = User.objects.filter(is_active=True)
    staff = people.exclude(role=Role.NONE)
    if is_internal:
        return list(staff.order_by("name", "pk"))
    members = people.filter(role=Role.NONE, memberships__customer=engagement.customer_id)
    return sorted({*staff, *members}, key=lambda person: (person.name, person.pk))


def mentioned(comment: Comment) -> list[User]:
    """The people whose names follow an @, as in @Petra Beispiel or, where unique, @Petra."""
    people = people_of(comment.engagement, is_internal=comment.is_internal)
    names: dict[str, list[User]] = {}
    for person in people:
        for name in {person.name.casefold(), person.name.casefold().partition(" ")[0]}:
            names.setdefault(name, []).append(person)
    found: dict[int, User] = {}
    for part in comment.text.casefold().split("@")[1:]:
        # The longest name first, so that a first name does not stand for another's full name.
        for name in sorted(filter(None, names), key=len, reverse=True):
            rest = part.removeprefix(name)
            if rest != part and not rest[:1].isalnum():
                if len(names[name]) == 1:
                    found[names[name][0].pk] = names[name][0]
                break
    return list(found.values())
