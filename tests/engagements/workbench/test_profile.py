"""The workbench: files dropped, a profile looked at, set beside another, its pictures."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.audit import findings
from engagements.engagement.models import Engagement
from engagements.evidence import reading
from engagements.evidence.models import Evidence
from tests.engagements import evidence_world
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def url(name: str, engagement: Engagement, *more: str) -> str:
    return reverse(name, args=[engagement.reference, *more])


def text(client: Client, engagement: Engagement, query: str = "") -> str:
    page = client.get(url("engagement-workbench", engagement) + query).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2]).split())


def test_an_empty_bench_says_what_to_bring(signed_in: Client, world: World) -> None:
    assert "No profile yet" in text(signed_in, world.scoping())


def test_a_profile_shows_shares_of_wall_clock_time(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    evidence_world.added(engagement, world.consultant, evidence_world.DECODE)
    page = text(signed_in, engagement)
    assert "attention Family 12 11.424 ms 86.1% 73.7%" in page
    assert "cudnn_generated_fort_native_sdpa" in page
    assert 'name="against"' not in page


def test_the_newest_profile_with_a_gpu_is_looked_at_unless_one_is_asked_for(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    decode = evidence_world.added(engagement, world.consultant, evidence_world.DECODE)
    evidence_world.added(engagement, world.consultant, evidence_world.PREFILL)
    host_only = evidence_world.added(engagement, world.consultant, "host_only.trace.json.gz")
    assert "23.72 ms" in text(signed_in, engagement)
    assert "15.51 ms" in text(signed_in, engagement, f"?profile={decode.pk}")
    assert "no GPU activity" in text(signed_in, engagement, f"?profile={host_only.pk}")
    assert "23.72 ms" in text(signed_in, engagement, "?profile=9" + "9" * 40)


def test_two_profiles_are_compared_side_by_side(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    before = evidence_world.added(engagement, world.consultant, evidence_world.PREFILL)
    after = evidence_world.added(engagement, world.consultant, "compiled.trace.json.gz")
    page = text(signed_in, engagement, f"?profile={after.pk}&against={before.pk}")
    assert "6.04× 11.86 ms to 1.96 ms, a step" in page
    assert {"faster", "gone", "appeared"} <= set(page.split())


def test_the_bench_says_which_profile_the_checks_go_by_and_keeps_the_one_looked_at(
    signed_in: Client, world: World
) -> None:
    engagement = world.auditing().engagement
    decode = evidence_world.added(engagement, world.consultant, evidence_world.DECODE)
    evidence_world.added(engagement, world.consultant, evidence_world.PREFILL)
    page = text(signed_in, engagement, f"?profile={decode.pk}")
    assert f"The checks use {evidence_world.PREFILL} . To use this one" in page

    broken = {"operator-pattern": "sdpa(", "profile": decode.pk}
    refused = signed_in.post(url("workbench-set", engagement, "operator"), broken)
    assert refused.status_code == 422
    assert "15.51 ms" in refused.content.decode()

    mended = broken | {"operator-pattern": "sdpa"}
    assert signed_in.post(url("workbench-set", engagement, "operator"), mended).status_code == 302
    assert f"The checks use {evidence_world.DECODE} ." in text(signed_in, engagement)


def test_a_step_is_no_operator(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    evidence_world.added(engagement, world.consultant, evidence_world.PREFILL)
    page = text(signed_in, engagement)
    assert "mlp Range" in page
    assert "ProfilerStep#1 Range" not in page


def test_dropped_files_come_back_as_a_list_that_fills_in(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    files = {"chosen": [SimpleUploadedFile("calls.csv", evidence_world.TRAFFIC)]}
    dropped = signed_in.post(url("workbench-add", engagement), files, headers=HTMX)
    assert dropped.status_code == 200
    assert dropped.content.decode().lstrip().startswith('<section class="panel" id="bench-files"')
    assert 'hx-trigger="every' in dropped.content.decode()
    assert signed_in.get(url("workbench-live", engagement)).status_code == 200

    reading.read(evidence_id=Evidence.objects.get().pk)
    done = signed_in.get(url("workbench-live", engagement))
    assert (done.status_code, done["HX-Retarget"]) == (286, "#bench")
    assert "80% of calls by 3" in done.content.decode()


def test_what_is_read_and_not_yet_computed_with_is_still_waited_for(
    signed_in: Client, world: World
) -> None:
    engagement = world.auditing().engagement
    evidence_world.added(engagement, world.consultant, evidence_world.DECODE)
    waiting = signed_in.get(url("workbench-live", engagement))
    assert (waiting.status_code, 'hx-trigger="every' in waiting.content.decode()) == (200, True)
    assert findings.compute_when_due(engagement=engagement)
    done = signed_in.get(url("workbench-live", engagement))
    assert (done.status_code, done["HX-Retarget"]) == (286, "#bench")
    assert 'hx-trigger="every' not in done.content.decode()


def test_without_scripts_a_drop_leads_back_to_the_bench(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    address = url("workbench-add", engagement)
    files = {"chosen": [SimpleUploadedFile("calls.csv", evidence_world.TRAFFIC)]}
    assert signed_in.post(address, files)["Location"] == url("engagement-workbench", engagement)
    for headers in ({}, HTMX):
        refused = signed_in.post(address, {"chosen": SimpleUploadedFile("a", b"")}, headers=headers)
        assert refused.status_code == 422
        assert "The submitted file is empty" in refused.content.decode()


def test_pictures_are_drawn_in_both_themes_and_kept_by_the_browser(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    evidence_world.added(engagement, world.consultant, evidence_world.PREFILL)
    other = evidence_world.added(engagement, world.consultant, evidence_world.IDLE)
    evidence_world.added(engagement, world.consultant, "calls.csv", evidence_world.TRAFFIC)
    for name in ("timeline", "shapes", "profiles"):
        address = url("workbench-picture", engagement, name, "dark") + f"?against={other.pk}"
        if name == "profiles":
            address = address.replace("against", "profile") + f"&against={other.pk - 1}"
        drawn = signed_in.get(address)
        assert drawn["Content-Type"].startswith("image/svg+xml"), name
        assert "default-src 'none'" in drawn["Content-Security-Policy"]
        again = signed_in.get(address, headers={"If-None-Match": drawn["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
    light = url("workbench-picture", engagement, "timeline", "light")
    assert signed_in.get(light)["ETag"] != drawn["ETag"]


def test_what_cannot_be_drawn_is_404(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    for name, theme in [("timeline", "dark"), ("shapes", "dark"), ("weather", "dark")]:
        assert signed_in.get(url("workbench-picture", engagement, name, theme)).status_code == 404
    evidence_world.added(engagement, world.consultant, evidence_world.IDLE)
    pink = url("workbench-picture", engagement, "timeline", "pink")
    assert signed_in.get(pink).status_code == 404


def test_all_staff_read_the_workbench_and_only_consultants_upload(
    client: Client, world: World
) -> None:
    engagement = world.scoping()
    evidence_world.added(engagement, world.consultant, "calls.csv", evidence_world.TRAFFIC)
    reads = [
        url("engagement-workbench", engagement),
        url("workbench-live", engagement),
        url("workbench-picture", engagement, "shapes", "light"),
    ]
    for person, read, act in [
        (world.stranger, [404] * 3, 404),
        (world.signatory, [404] * 3, 404),
        (world.finance, [200, 286, 200], 403),
    ]:
        client.force_login(person)
        assert [client.get(one).status_code for one in reads] == read
        assert client.post(url("workbench-add", engagement), {}).status_code == act
    assert 'method="post"' not in client.get(reads[0]).content.decode().partition("<main")[2]


def test_evidence_of_another_engagement_is_not_looked_at(signed_in: Client, world: World) -> None:
    foreign = evidence_world.added(
        world.scoping(customer=world.other_customer), world.consultant, evidence_world.DECODE
    )
    engagement = world.scoping()
    page = text(signed_in, engagement, f"?profile={foreign.pk}")
    assert "No profile yet" in page
