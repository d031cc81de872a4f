"""The findings on the workbench: computed from what lies there, with the operator chosen."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from kernels import catalogue
from tests.engagements import evidence_world
from tests.engagements.world import World, fresh

pytestmark = pytest.mark.django_db


AXES = {
    "axes-0-name": "batch",
    "axes-0-size": "16",
    "axes-1-name": "head_dim",
    "axes-1-size": "128",
}
TRIED = {"library": "FlashInfer", "lacks-0-feature": "our paging"}


def url(name: str, engagement: Engagement, *more: str) -> str:
    return reverse(name, args=[engagement.reference, *more])


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2]).split())


def bench(client: Client, audit: Audit) -> str:
    return words(client.get(url("engagement-workbench", audit.engagement)).content.decode())


def put(client: Client, audit: Audit, what: str, **said: object) -> int:
    data = {f"{what}-{name}": value for name, value in said.items()}
    return client.post(url("workbench-set", audit.engagement, what), data).status_code


def test_before_the_audit_is_started_the_bench_says_so(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    page = words(signed_in.get(url("engagement-workbench", engagement)).content.decode())
    assert "The audit is not started" in page
    nothing = url("workbench-set", engagement, "work")
    assert signed_in.post(nothing, {}).status_code == 404


def test_the_findings_are_computed_with_the_operator_that_was_chosen(
    signed_in: Client, audit: Audit
) -> None:
    assert put(signed_in, audit, "operator", choice="family:attention") == 302
    page = bench(signed_in, audit)
    assert "73.7%" in page
    assert "Attention takes 73.7% of your time" in page
    audit.refresh_from_db()
    assert audit.subject["operator"]["name"] == "attention"

    assert put(signed_in, audit, "operator", choice="family:elementwise") == 302
    assert audit.findings.get(check_name="hot").outcome == "fail"


def test_a_pattern_chooses_kernels_by_name(signed_in: Client, audit: Audit) -> None:
    assert put(signed_in, audit, "operator", pattern="sdpa|flash", choice="family:copy") == 302
    audit.refresh_from_db()
    assert audit.subject["operator"]["kind"] == "pattern"
    assert audit.findings.get(check_name="hot").outcome == "pass"
    assert put(signed_in, audit, "operator", pattern="sdpa(") == 422
    assert put(signed_in, audit, "operator", choice="weather:sunny") == 422


def test_needs_work_and_estimates_reach_the_checks(signed_in: Client, audit: Audit) -> None:
    needs = {"definition": "flash_attention", "dtype": "bfloat16", "architecture": "sm90"}
    assert put(signed_in, audit, "needs", **needs, **AXES) == 302
    assert put(signed_in, audit, "work", weeks="6", fee="48,000.00", currency="eur") == 302
    estimates = {"share_percent": "40", "kernel_low": "2", "kernel_high": "3"}
    assert put(signed_in, audit, "estimates", **estimates) == 302
    assert put(signed_in, audit, "tried", **TRIED) == 302
    audit.refresh_from_db()
    subject = audit.subject
    assert subject["needs"]["axes"] == {"batch": 16, "head_dim": 128}
    assert Decimal(subject["work"]["fee"]) == Decimal("48000")
    assert subject["kernel_speedup"] == {"low": 2.0, "high": 3.0}
    assert subject["share"] == 0.4
    page = bench(signed_in, audit)
    assert "6 weeks, EUR 48,000.00 net" in page
    assert "FlashInfer: lacks our paging" in page

    signed_in.post(url("workbench-forget", audit.engagement), {"library": "FlashInfer"})
    audit.refresh_from_db()
    assert "tried" not in audit.subject


@pytest.mark.parametrize(
    ("what", "typed", "field"),
    [
        ("needs", {"definition": "x", "axes-0-name": "batch", "axes-0-size": "many"}, "axes"),
        ("work", {"weeks": "6", "fee": "1.000"}, "__all__"),
        ("work", {"weeks": "2"}, "weeks"),
        ("work", {"weeks": "11"}, "weeks"),
        ("estimates", {"kernel_low": "3", "kernel_high": "2"}, "__all__"),
        ("thresholds", {"target": "0.5"}, "__all__"),
        ("thresholds", {"least_share": "700"}, "__all__"),
        ("tried", {"library": ""}, "library"),
    ],
)
def test_an_invalid_form_is_shown_again_with_its_error(
    signed_in: Client, audit: Audit, what: str, typed: dict[str, str], field: str
) -> None:
    data = {f"{what}-{name}": value for name, value in typed.items()}
    answer = signed_in.post(url("workbench-set", audit.engagement, what), data)
    assert answer.status_code == 422
    assert set(answer.context["forms"][what].errors) == {field}
    assert '<details class="unfold" open>' in answer.content.decode()


def test_a_threshold_is_moved_for_this_engagement_and_recorded(
    signed_in: Client, audit: Audit
) -> None:
    assert put(signed_in, audit, "operator", choice="family:attention") == 302
    assert put(signed_in, audit, "thresholds", least_share="80") == 302
    assert audit.findings.get(check_name="hot").outcome == "fail"
    event = audit.engagement.events.get(verb="audit.thresholds_set")
    assert event.changes["thresholds"] == [{}, {"least_share": 0.8}]
    assert "Least share: 80%" in bench(signed_in, audit)


def test_an_override_is_shown_beside_the_computed_finding(
    signed_in: Client, audit: Audit, world: World
) -> None:
    put(signed_in, audit, "operator", choice="family:attention")
    finding = overrides.propose(
        finding=audit.findings.get(check_name="hot"),
        outcome="fail",
        reason="The trace is a year old.",
        by=world.consultant,
    )
    overrides.confirm(finding=finding, by=world.admin)
    page = bench(signed_in, audit)
    assert "Overridden to fail by Connie, confirmed by Ada: The trace is a year old." in page


def test_an_unknown_finding_says_what_to_collect_and_by_which_command(
    signed_in: Client, audit: Audit
) -> None:
    signed_in.post(url("workbench-compute", audit.engagement))
    page = bench(signed_in, audit)
    assert "ncu --set full" in page


def test_nobody_but_a_consultant_sets_anything(client: Client, audit: Audit, world: World) -> None:
    acts = [
        *(url("workbench-set", audit.engagement, what) for what in ("operator", "thresholds")),
        url("workbench-compute", audit.engagement),
        url("workbench-forget", audit.engagement),
    ]
    for person, status in [(world.stranger, 404), (world.viewer, 404), (world.finance, 403)]:
        client.force_login(person)
        assert {client.post(one, {}).status_code for one in acts} == {status}
    client.force_login(world.finance)
    page = client.get(url("engagement-workbench", audit.engagement)).content.decode()
    assert 'method="post"' not in page.partition("<main")[2]
    assert client.get(url("audit-report", audit.engagement)).status_code == 200
    client.force_login(world.consultant)
    assert client.post(url("workbench-set", audit.engagement, "weather")).status_code == 404


def test_a_delivered_audit_is_only_looked_at(signed_in: Client, audit: Audit, world: World) -> None:
    delivered(audit, world)
    assert put(signed_in, audit, "work", weeks="6") == 422
    page = signed_in.get(url("engagement-workbench", audit.engagement)).content.decode()
    assert "Audit this operator" not in page


def delivered(audit: Audit, world: World) -> None:
    """Whatever the evidence leaves open is answered with unknown, and the audit delivered."""
    for finding in audit.findings.filter(found_at__isnull=True):
        audits.record_finding(
            audit=audit,
            check=finding.check_name,
            outcome="unknown",
            value="",
            rationale="",
            by=world.consultant,
        )
    audits.deliver(audit=audit, by=world.consultant)
    assert fresh(audit.engagement).stage != "auditing"


def test_what_was_computed_is_overridden_and_not_answered_by_hand(
    signed_in: Client, audit: Audit
) -> None:
    put(signed_in, audit, "operator", choice="family:attention")
    page = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    hot = page.partition('id="check-hot"')[2].partition("</article>")[0]
    assert "Attention takes 73.7% of your time" in hot
    override = url("audit-override", audit.engagement, "hot")
    assert override in hot
    assert f'action="{url("audit-finding", audit.engagement, "hot")}"' not in hot
    worth = page.partition('id="check-worth"')[2].partition("</article>")[0]
    assert f'action="{url("audit-finding", audit.engagement, "worth")}"' in worth
    answer = {"outcome": "fail", "value": "3%", "rationale": "I say so."}
    by_hand = signed_in.post(url("audit-finding", audit.engagement, "hot"), answer)
    assert by_hand.status_code == 422


def passing(client: Client, audit: Audit, world: World) -> None:
    """Every check passes, by override where the evidence does not say so."""
    put(client, audit, "operator", choice="family:attention")
    put(client, audit, "needs", definition="shared_prefix_attention", dtype="bfloat16")
    for finding in audit.findings.exclude(outcome="pass"):
        world.override(audit, finding.check_name, "pass")


def test_a_passing_audit_drafts_the_contract_by_one_click(
    signed_in: Client, audit: Audit, world: World
) -> None:
    put(signed_in, audit, "work", weeks="6", fee="48000", currency="EUR")
    passing(signed_in, audit, world)
    delivered(audit, world)
    page = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    draft = url("audit-draft", audit.engagement)
    assert f'action="{draft}"' in page
    for person, status in [(world.viewer, 404), (world.finance, 403)]:
        signed_in.force_login(person)
        assert signed_in.post(draft).status_code == status
    signed_in.force_login(world.consultant)
    assert signed_in.post(draft)["Location"] == url("engagement-contract", audit.engagement)
    version = ContractVersion.objects.get()
    assert (version.fee, version.weeks, version.state) == (Decimal(48000), 6, "draft")


def test_what_an_audit_lacks_for_a_contract_is_said(
    signed_in: Client, audit: Audit, world: World
) -> None:
    passing(signed_in, audit, world)
    delivered(audit, world)
    page = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    assert "data-blocked" in page
    assert signed_in.post(url("audit-draft", audit.engagement)).status_code == 422
    assert not ContractVersion.objects.exists()


def test_overlapping_kernels_of_a_pattern_are_summed_exactly_by_reading_again(
    signed_in: Client, world: World
) -> None:
    audit = world.auditing()
    streams = evidence_world.added(audit.engagement, world.consultant, "streams.trace.json.gz")
    assert put(signed_in, audit, "operator", pattern="nvjet|SoftMax") == 302
    streams.refresh_from_db()
    assert streams.state == Evidence.State.QUEUED, "two of them ran at once"
    evidence_world.read(streams)
    assert "nvjet|SoftMax" in bench(signed_in, audit)
    signed_in.post(url("workbench-compute", audit.engagement))
    computed = audit.findings.get(check_name="hot").computed
    assert computed is not None
    figures = computed["figures"]
    assert figures["share_of_wall"]["low"] == figures["share_of_wall"]["high"]

    assert put(signed_in, audit, "operator", pattern="SoftMax") == 302
    streams.refresh_from_db()
    assert streams.state == Evidence.State.READ, "one kernel alone overlaps nothing"


def test_the_operators_of_the_catalogue_are_offered(signed_in: Client, audit: Audit) -> None:
    page = signed_in.get(url("engagement-workbench", audit.engagement)).content.decode()
    offered = page.partition('<datalist id="definitions">')[2].partition("</datalist>")[0]
    assert set(re.findall(r'value="([^"]+)"', offered)) == set(catalogue.operators())


def test_requirements_start_with_the_gpu_and_dtype_of_the_profile(
    signed_in: Client, audit: Audit
) -> None:
    page = signed_in.get(url("engagement-workbench", audit.engagement))
    assert page.context["forms"]["needs"].initial == {
        "device": "NVIDIA H200",
        "architecture": "sm90",
        "dtype": "bfloat16",
    }


def test_the_shapes_are_listed_with_calls_share_and_drift(
    signed_in: Client, audit: Audit, world: World
) -> None:
    log = b"batch,seq_len\n" + b"1,128\n" * 600 + b"2,256\n" * 300
    evidence_world.added(audit.engagement, world.consultant, "moved.csv", log)
    page = bench(signed_in, audit)
    assert "1 × 128 600 66.7% \u2212100.0" in page
    assert "2 × 256 300 33.3% +100.0" in page
