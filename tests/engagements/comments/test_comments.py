"""Comments reach the other side and the people whom they mention, and nobody else."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.comments import services
from engagements.comments.models import Comment
from engagements.notifications.models import Mail, Notification
from engagements.people.models import Role
from tests.engagements.world import World, person
from tests.errors import declined


def test_both_sides_comment_on_their_pages(world: World, client: Client) -> None:
    engagement = world.scoping()
    for who, name in ((world.consultant, "comment"), (world.viewer, "portal-comment")):
        client.force_login(who)
        answer = client.post(reverse(name, args=[engagement.reference]), {"text": f"By {who}."})
        assert answer.status_code == 302
        page = client.get(answer.headers["Location"]).content.decode()
        assert f"By {who}." in page
    empty = client.post(reverse("portal-comment", args=[engagement.reference]), {"text": " "})
    assert empty.status_code == 422


def test_an_internal_comment_stays_in_the_house(world: World, client: Client) -> None:
    engagement = world.scoping()
    services.add(
        engagement=engagement,
        text="Ask for more, @Sigrid and @Finn.",
        by=world.consultant,
        is_internal=True,
    )
    client.force_login(world.signatory)
    page = reverse("portal-engagement", args=[engagement.reference])
    assert "Ask for more" not in client.get(page).content.decode()
    reached = Notification.objects.filter(event__verb="comment.added")
    assert [row.person for row in reached] == [world.finance]


def test_a_mentioned_person_is_mailed_once(world: World) -> None:
    engagement, other = world.scoping(), person("Otto", Role.CONSULTANT)
    for _ in range(2):
        services.add(engagement=engagement, text="Look, @otto, at this.", by=world.consultant)
    assert Comment.objects.count() == 1
    [mail] = Mail.objects.filter(recipient=other.email)
    assert "Look, @otto, at this." in mail.body
    assert f"/engagements/{engagement.reference}/" in mail.body


def test_an_ambiguous_first_name_mentions_nobody(world: World) -> None:
    engagement = world.scoping()
    for name in ("Sam One", "Sam Two"):
        person(name, Role.CONSULTANT)
    row = services.add(
        engagement=engagement, text="@Sam and @Sam Two, @Samuel", by=world.consultant
    )
    assert [user.name for user in services.mentioned(row)] == ["Sam Two"]


def test_customers_comment_on_acceptance_runs_alone(world: World) -> None:
    contract = world.active()
    run = world.request(contract)
    row = services.add(engagement=contract.engagement, run=run, text="Why?", by=world.viewer)
    assert list(services.comments_of(contract.engagement, user=world.viewer, run=run)) == [row]
    run.purpose = "trial"
    with declined("comment.run"):
        services.add(engagement=contract.engagement, run=run, text="And?", by=world.viewer)


@pytest.mark.parametrize("who", ["stranger", "nobody"])
def test_others_do_not_comment(world: World, who: str) -> None:
    with declined("comment.not_permitted"):
        services.add(engagement=world.scoping(), text="Hi.", by=getattr(world, who))
