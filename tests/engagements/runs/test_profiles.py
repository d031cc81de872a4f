"""The profile of a candidate: named by its evidence, shown at its runs, no input of the audit."""

from __future__ import annotations

import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from benchmarks.models import Solution
from benchmarks.services import solutions
from engagements.audit.audit_inputs import inputs_of
from engagements.evidence import candidates
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from engagements.people.models import Membership
from engagements.runs import profiles
from engagements.runs.models import EngagementRun
from tests.database_constraints import violates, write
from tests.engagements import evidence_world
from tests.engagements import story as stories
from tests.engagements.story import Story
from tests.errors import declined

pytestmark = pytest.mark.django_db

LADDER = "ladder_raw.ncu.csv"


@pytest.fixture
def story(client: Client) -> Story:
    story = stories.underway()
    client.force_login(story.consultant)
    return story


def _run(story: Story, ratio: float = 1.5) -> EngagementRun:
    stories.measured(story, ratio, purpose="trial")
    run = story.engagement.runs.first()
    assert run is not None
    return run


def _elsewhere() -> Solution:
    """A candidate of no run."""
    source = "def run(prepared, inputs, out):\n    pass\n"
    operator = stories.SCENARIO.operator
    return solutions.submit(name="elsewhere", operator=operator, filename="a.py", source=source)


def _added(client: Client, story: Story, run: EngagementRun, name: str = LADDER) -> Evidence:
    content = (evidence_world.CAPTURES / name).read_bytes()
    url = reverse("run-profile-add", args=[story.reference, run.pk])
    sent = client.post(url, {"chosen": SimpleUploadedFile(name, content)})
    assert sent.status_code == 302
    return Evidence.objects.get(name=name)


def test_a_profile_added_at_a_run_is_read_and_shown_at_every_run_of_its_candidate(
    client: Client, story: Story
) -> None:
    run = _run(story)
    row = _added(client, story, run)
    assert row.candidate == run.run.solution
    panel = reverse("run-profiles", args=[story.reference, run.pk])
    assert client.get(panel).status_code == 200
    evidence_world.read(row)
    assert client.get(panel).status_code == 286
    for each in (run, _run(story, 1.7)):
        page = client.get(reverse("run", args=[story.reference, each.pk]))
        (shown,) = page.context["profiles"]
        naive = shown.kernels[0]
        assert (naive.name, naive.rung.number) == ("naive", 1)
        assert naive.limit.startswith("L1 and shared memory at 99%")
        text = page.content.decode()
        assert "LG throttle" in text
        assert "99.6% hits" in text


def test_a_profile_is_added_by_api_with_the_digest_of_its_candidate(
    client: Client, story: Story
) -> None:
    run, url = _run(story), reverse("api-evidence-list")
    content = (evidence_world.CAPTURES / LADDER).read_bytes()
    digest = run.run.solution.digest
    for candidate, status in (("sha256:0", 422), (digest, 201)):
        file = SimpleUploadedFile(LADDER, content)
        data = {"engagement": story.reference, "file": file, "candidate": candidate}
        assert client.post(url, data).status_code == status
    assert client.get(url).json()["results"][0]["candidate"] == digest


def test_an_export_says_what_it_lacks_and_a_trace_lists_its_kernels(
    client: Client, story: Story
) -> None:
    run = _run(story)
    evidence_world.read(_added(client, story, run, evidence_world.COMPUTE))
    evidence_world.read(_added(client, story, run, evidence_world.PREFILL))
    page = client.get(reverse("run", args=[story.reference, run.pk]))
    trace, compute = page.context["profiles"]
    assert set(compute.compute.lacks) >= {"WarpStateStats", "SourceCounters"}
    assert "<code>WarpStateStats</code>" in page.content.decode()
    assert trace.hottest[0].name in page.content.decode()


def test_two_runs_show_their_kernels_side_by_side_to_the_consultancy(
    client: Client, story: Story
) -> None:
    run, other = _run(story), _run(story, 1.7)
    evidence_world.read(_added(client, story, run))
    query = {"left": run.pk, "right": other.pk}
    page = client.get(reverse("run-compare", args=[story.reference]), query)
    name, groups = page.context["kernels"][0]
    assert name == "naive"
    assert dict(groups[0].rows)["Share of the roofline"] == ["6%", "6%"]
    client.force_login(story.viewer)
    for page_name in ("run-profiles", "run-profile-add"):
        url = reverse(page_name, args=[story.reference, run.pk])
        assert client.post(url).status_code in (403, 404)


def test_kernels_are_matched_by_name_and_renamed_ones_by_time(client: Client, story: Story) -> None:
    run = _run(story)
    evidence_world.read(_added(client, story, run))
    (left,) = profiles.profiles_of(run)
    content = (evidence_world.CAPTURES / LADDER).read_bytes().replace(b'"naive"', b'"renamed"')
    row = evidence_world.added(story.engagement, story.consultant, "renamed.csv", content)
    right = profiles.CandidateProfile(row=row, facts=evidence.facts_of(row))
    titles = [title for title, _ in profiles.side_by_side(left, right)]
    assert "naive and renamed" in titles
    assert "tiled" in titles


def test_a_profile_names_a_candidate_of_its_engagement_alone(story: Story) -> None:
    row = evidence_world.add(story.engagement, story.consultant, LADDER)
    stranger, by = _elsewhere(), story.consultant
    with declined("evidence.candidate"):
        candidates.assign(evidence=row, candidate=stranger, by=by)
    content = io.BytesIO(b"a,b\n1,2\n")
    with declined("evidence.candidate"):
        evidence.add(
            engagement=story.engagement, name="a.csv", content=content, by=by, candidate=stranger
        )
    with violates("evidence.candidate"):
        write(row, candidate=stranger)


def test_a_file_changes_its_candidate_and_the_audit_reads_the_workloads_alone(
    client: Client, story: Story
) -> None:
    run = _run(story)
    row = evidence_world.added(story.engagement, story.consultant, evidence_world.DECODE)
    audit = story.engagement.audit
    assert inputs_of(audit).trace is not None
    url = reverse("evidence-assign", args=[story.reference, row.pk])
    for _ in range(2):
        assert client.post(url, {"candidate": run.run.solution_id}).status_code == 302
    assert story.engagement.events.filter(verb="evidence.assigned").count() == 1
    assert inputs_of(audit).trace is None
    client.force_login(story.viewer)
    portal = client.get(reverse("portal-evidence", args=[story.reference]))
    assert row.name not in portal.content.decode()
    other = stories.member(stories.company("Elsewhere"), "eve", Membership.Rights.VIEWER)
    client.force_login(other)
    assert client.post(url, {"candidate": ""}).status_code == 404
    client.force_login(story.consultant)
    client.post(url, {"candidate": ""})
    assert inputs_of(audit).trace is not None
