"""The pages of a customer's own benchmark, for both sides."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from engagements.benchmark.models import BenchmarkVersion
from engagements.people.models import User
from tests.engagements import evidence_world
from tests.engagements.benchmark.folders import claimed, passed, starter, uploaded, zipped
from tests.engagements.world import World

PAGES = {"consultant": "engagement-benchmark", "signatory": "portal-benchmark"}


def _of(world: World, who: str) -> tuple[User, str]:
    return getattr(world, who), PAGES[who]


@pytest.mark.parametrize("who", PAGES)
def test_either_side_uploads_discusses_and_approves_by_page(
    client: Client, world: World, who: str
) -> None:
    user, page = _of(world, who)
    engagement = world.scoping()
    client.force_login(user)
    archive = SimpleUploadedFile("mine.zip", zipped(starter()).read())
    answer = client.post(
        reverse(f"{page}-upload", args=[engagement.reference]), {"archive": archive}
    )
    version = BenchmarkVersion.objects.get()
    assert answer.status_code == 302
    digest = passed(version)
    key = [engagement.reference, version.number]
    said = {"text": "Why <b>this</b>?", "path": "reference.py", "line": 2}
    assert client.post(reverse(f"{page}-comment", args=key), said).status_code == 302
    assert client.post(reverse(f"{page}-approve", args=key), {"digest": digest}).status_code == 302
    assert version.approvals.get().user == user
    shown = client.get(answer["Location"]).content.decode()
    assert 'data-code="check.baseline"' in shown
    assert "Why &lt;b&gt;this&lt;/b&gt;?" in shown
    assert client.get(reverse(f"{page}-archive", args=key)).content == zipped(starter()).read()


def test_a_refused_archive_is_no_version(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.signatory)
    archive = SimpleUploadedFile("mine.zip", b"PK\x03\x04 not really")
    answer = client.post(
        reverse("portal-benchmark-upload", args=[engagement.reference]), {"archive": archive}
    )
    assert answer.status_code == 422
    codes = [error.code for error in answer.context["upload_form"].non_field_errors().as_data()]
    assert codes == ["folder.archive"]
    assert not BenchmarkVersion.objects.exists()


def test_the_log_of_a_check_is_live_until_it_ends(client: Client, world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    job = claimed(version)
    type(job).objects.filter(pk=job.pk).update(
        progress={"results": [], "trying": "Zeros in the slot"}
    )
    client.force_login(world.viewer)
    url = reverse("portal-benchmark-live", args=[version.engagement.reference, 1])
    live = client.get(url)
    assert live.status_code == 200
    assert "Zeros in the slot" in live.content.decode()
    client.force_login(world.signatory)
    client.post(reverse("portal-benchmark-cancel", args=[version.engagement.reference, 1]))
    assert client.get(url).status_code == 286


def test_two_versions_are_compared(client: Client, world: World) -> None:
    engagement = world.scoping()
    uploaded(engagement, world.signatory)
    changed: Any = {"weight = 1.0": "weight = 1.0  # all of it"}
    uploaded(engagement, world.consultant, starter(**changed))
    client.force_login(world.consultant)
    page = reverse("engagement-benchmark", args=[engagement.reference])
    (difference,) = client.get(f"{page}?version=2&against=1").context["differences"]
    assert difference.path == "benchmark.toml"
    assert [kind for kind, _ in difference.lines if kind in "+-"] == ["-", "+"]
    assert client.get(f"{page}?version=7").status_code == 404


def test_a_checked_benchmark_offers_templates(client: Client, world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    key = [version.engagement.reference, version.number]
    client.force_login(world.viewer)
    url = reverse("portal-benchmark-template", args=[*key, "triton"])
    assert client.get(url).status_code == 404
    passed(version)
    shown = client.get(reverse("portal-benchmark", args=key[:1])).context["writing"]
    assert [each.title for each in shown.templates] == ["PyTorch", "Triton", "Numba"]
    assert [each.url for each in shown.templates][1] == url
    assert "def reference(" in client.get(url).content.decode()
    client.force_login(world.consultant)
    page = client.get(reverse("engagement-benchmark", args=key[:1]))
    assert any(key[0] in line for line in page.context["writing"].templates[0].commands)


def test_starters_download(client: Client, world: World) -> None:
    engagement = world.scoping()
    client.force_login(world.viewer)
    for kind, status in (("module", 200), ("other", 404)):
        url = reverse("portal-benchmark-starter", args=[engagement.reference, kind])
        assert client.get(url).status_code == status


def test_another_customer_finds_none_of_these_pages(client: Client, world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    passed(version)
    client.force_login(world.stranger)
    reference = version.engagement.reference
    for page in PAGES.values():
        urls = [reverse(page, args=[reference]), reverse(f"{page}-upload", args=[reference])]
        urls += [reverse(f"{page}-starter", args=[reference, "module"])]
        urls.append(reverse(f"{page}-template", args=[reference, version.number, "torch"]))
        for act in ("live", "check", "cancel", "comment", "approve", "archive", "document"):
            urls.append(reverse(f"{page}-{act}", args=[reference, version.number]))
        for url in urls:
            answers = {client.get(url).status_code, client.post(url).status_code}
            assert answers <= {404, 405}, url
    client.force_login(world.consultant)
    approve = reverse("portal-benchmark-approve", args=[reference, version.number])
    assert client.post(approve).status_code == 403


def test_a_traffic_log_fills_the_workloads_of_the_newest_version(
    client: Client, world: World
) -> None:
    engagement = world.scoping()
    log = b"tokens,count\n8,900\n64,80\n512,20\n"
    known = evidence_world.added(engagement, world.consultant, "calls.csv", log)
    other = evidence_world.added(engagement, world.consultant, "other.csv", b"width,count\n8,9\n")
    uploaded(engagement, world.signatory)
    client.force_login(world.signatory)

    def draft(pk: int) -> Any:
        return client.get(reverse("portal-benchmark-draft", args=[engagement.reference, pk]))

    described = tomllib.loads(draft(known.pk).content.decode())
    assert [each["axes"]["tokens"] for each in described["workloads"]] == [8, 64]
    assert described["traffic"]["covered"] == pytest.approx(0.9)
    assert [each["axes"]["hidden"] for each in described["workloads"]] == [256, 256]
    # Its columns are no axis of the operator.
    assert draft(other.pk).status_code == 422
    elsewhere = evidence_world.added(world.scoping(), world.consultant, "calls.csv", log)
    assert draft(elsewhere.pk).status_code == 404
