"""The board, opening an engagement, and the way in."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from engagements.contracts.milestones import handovers
from engagements.engagement.models import Engagement, Stage
from engagements.workbench import board
from engagements.workbench import board_queries as boards
from engagements.workbench.models import SavedFilter
from engagements.workbench.next_step import FINANCE, US, next_step
from engagements.workbench.summary import summary_of
from tests.engagements import story as stories
from tests.engagements.story import Story
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def test_everybody_is_brought_to_the_pages_of_their_role(client: Client, world: World) -> None:
    ways = {
        world.consultant: "board",
        world.admin: "board",
        world.finance: "finance",
        world.signatory: "portal",
        world.nobody: "portal",
    }
    for person, name in ways.items():
        client.force_login(person)
        assert client.get("/")["Location"] == reverse(name)


def test_the_next_step_after_a_met_target_names_its_actor(world: World) -> None:
    contract = world.met()
    engagement = contract.engagement
    who = [next_step(summary_of(engagement)).who_label]
    handovers.hand_over(engagement=engagement, by=world.consultant)
    who.append(next_step(summary_of(engagement)).who_label)
    world.pay(contract.milestones.get(condition="target_met"))
    who.append(next_step(summary_of(engagement)).who_label)
    handovers.contest(engagement=engagement, defect="No tests.", by=world.signatory)
    who.append(next_step(summary_of(engagement)).who_label)
    assert who == [US, FINANCE, str(engagement.customer), US]


def test_the_board_finds_and_narrows(client: Client, world: World) -> None:
    mine, theirs = world.scoping(), world.scoping(customer=world.other_customer)
    Engagement.objects.filter(pk=theirs.pk).update(lead=world.admin)
    client.force_login(world.consultant)
    found = client.get(reverse("board"), {"q": "elsewhere"}).content.decode()
    assert theirs.reference in found
    assert mine.reference not in found
    led = client.get(reverse("board"), {"lead": "me"}).content.decode()
    assert mine.reference in led
    assert theirs.reference not in led


def test_ended_engagements_are_kept_apart(client: Client, world: World) -> None:
    ended = world.scoping()
    Engagement.objects.filter(pk=ended.pk).update(stage=Stage.CANCELLED)
    client.force_login(world.consultant)
    assert ended.reference not in client.get(reverse("board")).content.decode()
    assert ended.reference in client.get(reverse("board"), {"done": "yes"}).content.decode()


def test_a_long_stage_is_cut_short_and_shown_whole_in_pages(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "SHOWN_A_STAGE", 2)
    monkeypatch.setattr(board, "PER_PAGE", 2)
    references = [world.scoping().reference for _ in range(3)]
    other = world.audited().reference
    client.force_login(world.consultant)

    def shown(**query: str) -> list[str]:
        page = client.get(reverse("board"), query).content.decode()
        return [each for each in (*references, other) if each in page]

    assert shown() == [*references[:2], other]
    assert f"{reverse('board')}?stage=scoping" in client.get(reverse("board")).content.decode()
    assert shown(stage="scoping") == references[:2]
    assert shown(stage="scoping", page="2") == references[2:]
    assert client.get(reverse("board"), {"stage": "nowhere"}).status_code == 404


def test_the_whole_of_a_stage_shows_nothing_of_another_customer(
    client: Client, world: World
) -> None:
    """The board is the consultancy's; whoever belongs to a customer gets none of it."""
    world.scoping()
    client.force_login(world.stranger)
    assert client.get(reverse("board"), {"stage": "scoping"}).status_code == 404


def test_an_empty_board_says_what_to_do(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    page = client.get(reverse("board")).content.decode()
    assert "No active engagements" in page
    page = client.get(reverse("board"), {"q": "nothing"}).content.decode()
    assert "Nothing matches" in page


def test_htmx_gets_the_list_alone(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    page = client.get(reverse("board"), headers={"HX-Request": "true"}).content.decode()
    assert 'id="board"' in page
    assert "<html" not in page


def test_an_engagement_is_opened(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    response = client.post(reverse("engagement-new"), opening(world))
    opened = Engagement.objects.get()
    assert response["Location"] == reverse("engagement", args=[opened.reference])
    assert (opened.stage, opened.lead) == (Stage.SCOPING, world.consultant)


def test_a_form_with_errors_keeps_what_was_typed(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    response = client.post(reverse("engagement-new"), opening(world) | {"title": " "})
    page = response.content.decode()
    assert response.status_code == 422
    assert "A long shared prompt" in page
    assert 'id="id_title_error"' in page
    assert 'aria-invalid="true"' in page
    assert not Engagement.objects.exists()


def test_only_a_consultant_can_be_the_lead(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    data = opening(world) | {"lead": str(world.finance.pk)}
    assert client.post(reverse("engagement-new"), data).status_code == 422


def opening(world: World) -> dict[str, str]:
    return {
        "customer": str(world.customer.pk),
        "title": "Shared prompt",
        "workload": "A long shared prompt, short questions.",
        "lead": str(world.consultant.pk),
    }


def test_names_cannot_smuggle_markup_into_a_page(client: Client, world: World) -> None:
    engagement = world.scoping()
    Engagement.objects.filter(pk=engagement.pk).update(title="<script>alert(1)</script>")
    client.force_login(world.consultant)
    for url in (reverse("board"), reverse("engagement", args=[engagement.reference])):
        assert "<script>alert" not in client.get(url).content.decode()


@pytest.fixture
def story() -> Story:
    return stories.underway()


def test_the_engagement_page_asks_a_bounded_number_of_questions(
    client: Client, story: Story
) -> None:
    client.force_login(story.consultant)
    url = reverse("engagement", args=[story.reference])
    client.get(url)
    stories.measured(story, 2.6, purpose="trial")
    with CaptureQueriesContext(connection) as one:
        client.get(url)
    stories.measured(story, 2.5, purpose="trial")
    stories.measured(story, 2.4, purpose="trial")
    with CaptureQueriesContext(connection) as three:
        client.get(url)
    assert len(three) == len(one)


def test_a_filter_is_kept_under_a_name_by_its_person_alone(world: World, client: Client) -> None:
    client.force_login(world.finance)
    save = reverse("board-filter-save")
    for query in ("lead=me&page=3&evil=1", "q=shared&lead=me"):
        assert client.post(save, {"name": "Mine", "query": query}).status_code == 302
    [kept] = SavedFilter.objects.all()
    assert (kept.person, kept.query) == (world.finance, "q=shared&lead=me")
    assert "?q=shared&amp;lead=me" in client.get(reverse("board")).content.decode()
    # A filter that the page set without a reload can be saved as well.
    swapped = client.get(reverse("board"), {"q": "shared"}, headers={"HX-Request": "true"})
    assert f'action="{save}"' in swapped.content.decode()
    client.post(save, {"name": "", "query": "lead=me"})
    assert SavedFilter.objects.count() == 1
    delete = reverse("board-filter-delete", args=[kept.pk])
    client.force_login(world.consultant)
    assert client.post(delete).status_code == 404
    client.force_login(world.finance)
    assert client.post(delete).status_code == 302
    assert not SavedFilter.objects.exists()
