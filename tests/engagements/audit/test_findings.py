"""Findings are computed from an engagement's evidence and answers, and a person's word beside."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from engagements import tasks
from engagements.audit import findings as computing
from engagements.audit import overrides, subjects
from engagements.audit import rules as checks
from engagements.audit import services as audits
from engagements.audit.models import Audit, Finding
from engagements.common import queue
from engagements.engagement.models import Engagement, Stage
from engagements.evidence import questionnaire, reading
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from engagements.evidence.readers import as_data, read
from tests.engagements.evidence.traces import CAPTURES, host, kernel, trace
from tests.engagements.world import World, fresh, today
from tests.errors import declined

DECODE = CAPTURES / "h200_llama_decode_32k_prefix.trace.json.gz"
TRAFFIC = "batch,prefix_len,own_len,duration_us\n" + "32,32768,256,950\n16,32768,256,700\n" * 600


@pytest.fixture
def audit(world: World) -> Audit:
    return world.auditing()


def keep(world: World, engagement: Engagement, name: str, content: bytes) -> Evidence:
    """Evidence that was read already: in this process, which is faster than in one of its own."""
    row = evidence.add(
        engagement=engagement, name=name, content=io.BytesIO(content), by=world.consultant
    )
    facts = read(io.BytesIO(content), name)
    reading.claim(evidence_id=row.pk)
    Evidence.objects.filter(pk=row.pk).update(
        state=Evidence.State.READ,
        format=facts.format,
        summary=as_data(facts),
        leased_until=None,
        concluded_at=timezone.now(),
    )
    return Evidence.objects.get(pk=row.pk)


@pytest.fixture
def add(world: World, audit: Audit) -> Callable[[str, bytes], Evidence]:
    """Add a file that is read, and compute, as a worker would."""

    def added(name: str, content: bytes) -> Evidence:
        row = keep(world, audit.engagement, name, content)
        tasks.compute_findings(audit.engagement_id)
        return row

    return added


def finding(audit: Audit, check: str) -> Finding:
    return audit.findings.get(check_name=check)


def test_evidence_added_before_the_audit_counts_at_its_start(world: World) -> None:
    engagement = world.scoping()
    keep(world, engagement, "shapes.csv", TRAFFIC.encode())
    assert finding(world.auditing(engagement=engagement), "stable").outcome == "pass"


def test_a_profile_that_was_read_answers_its_checks(
    audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    row = add(DECODE.name, DECODE.read_bytes())
    hot = finding(audit, "hot")
    assert (hot.outcome, hot.value, hot.found_by) == ("pass", "73.7%", None)
    computed = hot.computed_finding
    assert computed is not None
    assert computed.evidence[0].digest == row.digest
    assert finding(audit, "stable").outcome == "unknown"
    event = audit.engagement.events.get(verb="audit.computed")
    assert event.changes == {"hot": ["unknown", "pass"]}


def test_the_same_evidence_changes_nothing_the_second_time(
    audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    before = Audit.objects.get(pk=audit.pk)
    assert tasks.compute_findings(audit.engagement_id) is False
    computing.compute(audit=audit)
    assert audit.engagement.events.filter(verb="audit.computed").count() == 1
    assert Audit.objects.get(pk=audit.pk).computed_from == before.computed_from


def test_reading_a_file_asks_for_the_findings(
    world: World,
    audit: Audit,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    row = evidence.add(
        engagement=audit.engagement,
        name="shapes.csv",
        content=io.BytesIO(TRAFFIC.encode()),
        by=world.consultant,
    )
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(queue, "send", lambda *task: sent.append(task))
    with django_capture_on_commit_callbacks(execute=True):
        tasks.read_evidence(row.pk)
    assert sent == [("compute_findings", audit.engagement_id)]


def test_nothing_is_computed_where_nothing_is_known(audit: Audit) -> None:
    assert tasks.compute_findings(audit.engagement_id) is False
    assert all(row.found_at is None for row in audit.findings.all())


def test_an_answer_is_looked_at(world: World, audit: Audit) -> None:
    questionnaire.record(
        engagement=audit.engagement,
        question="maintainers",
        value={"people": []},
        answered_by="Sigrid",
        answered_on=today(),
        by=world.consultant,
    )
    assert tasks.compute_findings(audit.engagement_id) is True
    assert finding(audit, "maintain").outcome == "fail"


def test_a_lost_message_is_made_good_by_the_sweep(
    world: World, audit: Audit, sweep: Callable[[], None]
) -> None:
    questionnaire.record(
        engagement=audit.engagement,
        question="maintainers",
        value={"people": [{"name": "Kernels", "hours_a_month": 20}]},
        answered_by="Sigrid",
        answered_on=today(),
        by=world.consultant,
    )
    sweep()
    assert finding(audit, "maintain").outcome == "pass"


def by_hand(world: World, audit: Audit, **changes: Any) -> Finding:
    given: dict[str, Any] = {
        "audit": audit,
        "check": "hot",
        "outcome": "pass",
        "value": "38%",
        "rationale": "Seen on site.",
        "by": world.consultant,
    }
    return audits.record_finding(**given | changes)


def test_a_person_knows_more_until_the_evidence_decides(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    by_hand(world, audit)
    add("shapes.csv", TRAFFIC.encode())
    assert (finding(audit, "hot").value, finding(audit, "hot").is_by_hand) == ("38%", True)
    assert finding(audit, "stable").outcome == "pass"
    add(DECODE.name, DECODE.read_bytes())
    assert (finding(audit, "hot").value, finding(audit, "hot").is_by_hand) == ("73.7%", False)


def test_what_was_computed_is_overridden_and_not_rewritten(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    with declined("audit.finding_computed"):
        by_hand(world, audit)
    hot = finding(audit, "hot")
    hot = overrides.propose(
        finding=hot, outcome="fail", reason="Another workload.", by=world.consultant
    )
    overrides.confirm(finding=hot, by=world.admin)
    verdict = computing.verdict_of(Audit.objects.get(pk=audit.pk))
    assert verdict is not None
    assert (verdict.passes, verdict.findings[0].outcome) == (0, "pass")


def test_an_override_survives_an_equal_finding_and_ends_with_another_outcome(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    overrides.propose(
        finding=finding(audit, "hot"), outcome="fail", reason="Rare.", by=world.consultant
    )
    add("shapes.csv", TRAFFIC.encode())
    assert finding(audit, "hot").override_outcome == "fail"
    idle = CAPTURES / "idle_gpu.trace.json.gz"
    add(idle.name, idle.read_bytes())
    assert (finding(audit, "hot").outcome, finding(audit, "hot").override_outcome) == ("fail", "")


def test_the_operator_and_the_profile_are_chosen(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    first = add(DECODE.name, DECODE.read_bytes())
    idle = CAPTURES / "idle_gpu.trace.json.gz"
    add(idle.name, idle.read_bytes())
    subjects.choose_operator(
        audit=audit,
        operator=checks.Operator(kind="family", name="matrix product"),
        trace=first.digest,
        by=world.consultant,
    )
    assert finding(audit, "hot").value == "9.5%"
    audit.refresh_from_db()
    assert audit.subject["operator"]["name"] == "matrix product"
    assert audit.engagement.events.filter(verb="audit.subject_set").count() == 1


def overlapping() -> bytes:
    """A millisecond in which two kernels of one operator run for 300 us each, 100 us at once."""
    return trace(
        host("step", 0.0, 1000.0),
        kernel("mine_a", 0.0, 300.0),
        kernel("mine_b", 200.0, 300.0),
        kernel("gemm", 500.0, 300.0),
    )


def test_a_pattern_is_summed_exactly_by_a_worker(
    world: World,
    audit: Audit,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    keep(world, audit.engagement, "overlapping.json", overlapping())
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(queue, "send", lambda *task: sent.append(task))
    mine = checks.Operator(kind="pattern", name="mine", pattern="^mine_")
    with django_capture_on_commit_callbacks(execute=True):
        subjects.choose_operator(audit=audit, operator=mine, by=world.consultant)
    assert finding(audit, "hot").value == "50 to 60%"
    assert sent == [("sum_operator", audit.pk)]
    with django_capture_on_commit_callbacks(execute=True):
        assert tasks.sum_operator(audit.pk) is True
    assert finding(audit, "hot").value == "50%"
    assert tasks.sum_operator(audit.pk) is False
    assert sent == [("sum_operator", audit.pk)]


def test_a_profile_without_the_gpu_does_not_displace_one_that_has_it(
    audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    blank = CAPTURES / "host_only.trace.json.gz"
    add(blank.name, blank.read_bytes())
    assert finding(audit, "hot").value == "73.7%"


def test_thresholds_are_recorded_with_the_audit(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    subjects.set_thresholds(
        audit=audit, changes={"least_share": 0.9, "target": 2.0}, by=world.consultant
    )
    audit.refresh_from_db()
    assert audit.thresholds == {"least_share": 0.9}
    assert finding(audit, "hot").outcome == "fail"
    event = audit.engagement.events.get(verb="audit.thresholds_set")
    assert event.changes == {"thresholds": [{}, {"least_share": 0.9}]}


def test_only_a_consultant_computes_or_sets(world: World, audit: Audit) -> None:
    for who in (world.signatory, world.finance, world.stranger):
        with declined("access.consultants_only"):
            computing.compute(audit=audit, by=who)
        with declined("access.consultants_only"):
            subjects.set_thresholds(audit=audit, changes={}, by=who)


def test_what_arrived_at_the_last_moment_counts_when_the_audit_is_delivered(
    world: World, audit: Audit
) -> None:
    keep(world, audit.engagement, DECODE.name, DECODE.read_bytes())
    delivered = audits.deliver(audit=audit, by=world.consultant)
    assert delivered.outcome == "decline"
    verdict = computing.verdict_of(delivered)
    assert verdict is not None
    assert verdict.passes == 1


def test_a_delivered_audit_is_never_computed_again(
    world: World, audit: Audit, add: Callable[[str, bytes], Evidence]
) -> None:
    add(DECODE.name, DECODE.read_bytes())
    audits.deliver(audit=audit, by=world.consultant)
    assert fresh(audit.engagement).stage == Stage.DECLINED
    with declined("engagement.wrong_stage"):
        computing.compute(audit=audit, by=world.consultant)
    assert tasks.compute_findings(audit.engagement_id) is False
