"""Several logs of shapes on the workbench: which of them the checks go by."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.audit.models import Audit
from engagements.evidence.models import Evidence
from tests.engagements import evidence_world
from tests.engagements.world import World

pytestmark = pytest.mark.django_db

# One shape alone; the log of `kept.TRAFFIC` has twelve.
ONE_SHAPE = b"batch,length,count,duration_us\n8,4096,9000,120\n"


@pytest.fixture
def audit(world: World) -> Audit:
    """Under way, with an older log of many shapes and a newer one of a single shape."""
    audit = world.auditing()
    evidence_world.added(audit.engagement, world.consultant, "march.csv", evidence_world.TRAFFIC)
    evidence_world.added(audit.engagement, world.consultant, "april.csv", ONE_SHAPE)
    return audit


def kept_as(audit: Audit, name: str) -> Evidence:
    return Evidence.objects.get(engagement=audit.engagement, name=name)


def digest(audit: Audit, name: str) -> str:
    return kept_as(audit, name).digest


def choose(client: Client, audit: Audit, log: str) -> tuple[int, str]:
    """The answer's status, and what the page it leads to holds."""
    address = reverse("workbench-set", args=[audit.engagement.reference, "traffic"])
    response = client.post(address, {"traffic-log": log}, follow=True)
    return response.status_code, response.content.decode()


def gone_by(audit: Audit) -> str:
    """The digest of the log that the check of stable shapes was computed from."""
    computed = audit.findings.get(check_name="stable").computed
    assert computed is not None
    return str(computed["evidence"][0]["digest"])


def test_the_checks_go_by_the_log_that_was_chosen(
    client: Client, audit: Audit, world: World
) -> None:
    client.force_login(world.consultant)
    status, page = choose(client, audit, digest(audit, "march.csv"))
    assert status == 200
    assert gone_by(audit) == digest(audit, "march.csv")
    assert f'<option value="{digest(audit, "march.csv")}" selected>march.csv' in page
    assert "in 12 shapes" in page
    # Again the newest, whichever that is.
    status, page = choose(client, audit, "")
    assert gone_by(audit) == digest(audit, "april.csv")
    assert "in 12 shapes" not in page


def test_the_picture_shows_the_log_that_was_chosen(
    client: Client, audit: Audit, world: World
) -> None:
    client.force_login(world.consultant)
    _, page = choose(client, audit, digest(audit, "march.csv"))
    march, april = (kept_as(audit, name) for name in ("march.csv", "april.csv"))
    address = reverse("workbench-picture", args=[audit.engagement.reference, "shapes", "light"])
    assert f"{address}?log={march.pk}" in page
    drawn = [client.get(address, {"log": row.pk}).content for row in (march, april)]
    assert drawn[0] != drawn[1]


def test_a_log_of_another_engagement_is_refused(client: Client, audit: Audit, world: World) -> None:
    other = world.auditing()
    theirs = evidence_world.added(
        other.engagement, world.consultant, "theirs.csv", b"batch,count\n4,2\n"
    )
    client.force_login(world.consultant)
    for log in (theirs.digest, "sha256:" + "0" * 64, "x" * 72):
        assert choose(client, audit, log)[0] == 422
    assert "traffic" not in Audit.objects.get(pk=audit.pk).subject


def test_a_single_log_leaves_nothing_to_choose(client: Client, world: World) -> None:
    audit = world.auditing()
    evidence_world.added(audit.engagement, world.consultant, "march.csv", evidence_world.TRAFFIC)
    client.force_login(world.consultant)
    page = client.get(reverse("engagement-workbench", args=[audit.engagement.reference]))
    assert "march.csv" in page.content.decode()
    assert 'name="traffic-log"' not in page.content.decode()


def test_only_a_consultant_chooses(client: Client, audit: Audit, world: World) -> None:
    for person, status in [(world.stranger, 404), (world.viewer, 404), (world.finance, 403)]:
        client.force_login(person)
        assert choose(client, audit, digest(audit, "march.csv"))[0] == status
    assert "traffic" not in Audit.objects.get(pk=audit.pk).subject
    page = client.get(reverse("engagement-workbench", args=[audit.engagement.reference]))
    assert 'name="traffic-log"' not in page.content.decode()
