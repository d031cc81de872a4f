"""An engagement is opened by a consultant, under a reference of its own."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import closing
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement, Stage
from engagements.event_log.models import Event
from engagements.people.models import Role
from engagements.workbench import opening as engagements
from tests.engagements.world import World, person
from tests.errors import declined


def open_one(world: World, **changes: Any) -> Engagement:
    given: dict[str, Any] = {
        "customer": world.customer,
        "title": "Shared prompt",
        "workload": "Long prompts.",
        "lead": world.consultant,
        "by": world.consultant,
    }
    return engagements.open_engagement(**given | changes)


def test_references_count_up_within_the_year(world: World) -> None:
    year = timezone.now().year
    first, second = open_one(world), open_one(world)
    assert first.reference == f"TF-{year}-0001"
    assert second.reference == f"TF-{year}-0002"
    Engagement.objects.filter(pk=second.pk).update(reference=f"TF-{year}-9999")
    assert open_one(world).reference == f"TF-{year}-10000"
    assert open_one(world).reference == f"TF-{year}-10001"


def test_an_engagement_starts_in_scoping(world: World) -> None:
    engagement = open_one(world)
    assert engagement.stage == Stage.SCOPING
    event = Event.objects.get(engagement=engagement)
    assert (event.verb, event.actor, event.for_customer) == (
        "engagement.opened",
        world.consultant,
        True,
    )


@pytest.mark.parametrize("who", ["finance", "signatory", "nobody"])
def test_only_consultants_open_and_lead_engagements(world: World, who: str) -> None:
    with declined("access.consultants_only"):
        open_one(world, by=getattr(world, who))
    with declined("engagement.lead_role"):
        open_one(world, lead=getattr(world, who))


def test_admins_open_and_lead_engagements(world: World) -> None:
    assert open_one(world, by=world.admin, lead=world.admin).lead == world.admin


@pytest.mark.parametrize("field", ["title", "workload"])
def test_title_and_workload_are_required(world: World, field: str) -> None:
    with declined("validation.missing"):
        open_one(world, **{field: "  "})


def test_a_long_title_is_rejected(world: World) -> None:
    with declined("engagement.max_length"):
        open_one(world, title="x" * 161)


def test_title_workload_and_lead_change_with_a_log_entry(world: World, client: Client) -> None:
    engagement, other = world.scoping(), person("Otto", Role.CONSULTANT)
    client.force_login(world.consultant)
    page = reverse("engagement-edit", args=[engagement.reference])
    posted = {"title": "New title", "workload": engagement.workload, "lead": other.pk}
    for _ in range(2):
        assert client.post(page, posted).status_code == 302
    engagement.refresh_from_db()
    assert (engagement.title, engagement.lead) == ("New title", other)
    [event] = engagement.events.filter(verb="engagement.edited")
    assert event.changes == {
        "title": ["Shared prompt", "New title"],
        "lead": [world.consultant.pk, other.pk],
    }
    assert client.post(page, posted | {"lead": world.finance.pk}).status_code == 422


def test_an_ended_engagement_is_not_changed(world: World) -> None:
    engagement = closing.cancel(engagement=world.scoping(), reason="No.", by=world.consultant)
    with pytest.raises(ApplicationError):
        engagements.edit(
            engagement=engagement,
            title="T",
            workload="W",
            lead=world.consultant,
            by=world.consultant,
        )
