"""The audit asks six checks, and what it says moves the engagement."""

from decimal import Decimal
from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from engagements.audit import overrides
from engagements.audit import services as audits
from engagements.audit.models import Audit, Finding
from engagements.engagement.models import Stage
from tests.database_constraints import violates
from tests.engagements.world import World, fresh
from tests.errors import declined

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"


def record(world: World, audit: Audit, **changes: Any) -> Finding:
    given: dict[str, Any] = {
        "audit": audit,
        "check": "hot",
        "outcome": PASS,
        "value": "38%",
        "rationale": "Profiled.",
        "by": world.consultant,
    }
    return audits.record_finding(**given | changes)


def test_an_audit_starts_with_an_unknown_finding_a_check(world: World) -> None:
    audit = world.auditing()
    assert [finding.outcome for finding in audit.findings.all()] == [UNKNOWN] * 6
    assert fresh(audit.engagement).stage == Stage.AUDITING


def test_starting_it_twice_changes_nothing(world: World) -> None:
    audit = world.auditing()
    assert world.auditing(engagement=audit.engagement) == audit
    assert audit.engagement.events.filter(verb="audit.started").count() == 1


def test_a_second_audit_at_another_price_is_refused(world: World) -> None:
    audit = world.auditing()
    with declined("engagement.wrong_stage"):
        audits.start(
            engagement=audit.engagement, cost=Decimal(1), currency="EUR", by=world.consultant
        )


@pytest.mark.parametrize(
    ("cost", "currency", "code"),
    [
        ("6000.001", "EUR", "amount.too_precise"),
        ("-1", "EUR", "audit.cost_is_not_negative"),
        ("1", "EURO", "amount.unknown_currency"),
    ],
)
def test_an_audit_has_a_valid_cost(world: World, cost: str, currency: str, code: str) -> None:
    with declined(code):
        audits.start(
            engagement=world.scoping(), cost=Decimal(cost), currency=currency, by=world.consultant
        )


def test_a_finding_keeps_its_author(world: World) -> None:
    finding = record(world, world.auditing())
    assert (finding.outcome, finding.value, finding.found_by) == (PASS, "38%", world.consultant)
    assert finding.found_at is not None


def test_recording_the_same_finding_again_leaves_no_second_event(world: World) -> None:
    audit = world.auditing()
    record(world, audit)
    record(world, audit)
    assert audit.engagement.events.filter(verb="audit.finding_recorded").count() == 1


def test_an_incomplete_finding_is_declined(world: World) -> None:
    audit = world.auditing()
    for changes, code in (
        ({"rationale": " "}, "audit.rationale_missing"),
        ({"value": ""}, "audit.value_missing"),
        ({"check": "vibes"}, "audit.check_unknown"),
        ({"outcome": "maybe"}, "audit.outcome_unknown"),
        ({"value": "3%"}, "audit.value_contradicts_outcome"),
    ):
        with declined(code):
            record(world, audit, **changes)


def test_an_override_counts_once_another_consultant_confirms_it(world: World) -> None:
    finding = record(world, world.auditing(), outcome=FAIL, value="3%")
    finding = overrides.propose(
        finding=finding, outcome=PASS, reason="It grows with the prompt.", by=world.consultant
    )
    assert finding.effective_outcome == FAIL
    with declined("audit.override_same_person"):
        overrides.confirm(finding=finding, by=world.consultant)
    with declined("audit.override_changed"):
        overrides.confirm(finding=finding, by=world.admin, expected=UNKNOWN)
    for _ in range(2):
        finding = overrides.confirm(finding=finding, by=world.admin, expected=PASS)
    assert (finding.outcome, finding.effective_outcome) == (FAIL, PASS)
    event = finding.audit.engagement.events.filter(verb="audit.finding_overridden").get()
    assert event.changes["effective_outcome"] == [FAIL, PASS]
    assert not event.for_customer


def test_the_database_refuses_an_override_by_one_person(world: World) -> None:
    finding = record(world, world.auditing(), outcome=FAIL, value="3%")
    overrides.propose(finding=finding, outcome=PASS, reason="Hm.", by=world.consultant)
    with violates("finding_override_is_confirmed_by_another"):
        Finding.objects.filter(pk=finding.pk).update(override_confirmed_by=world.consultant)


def test_an_open_override_is_confirmed_or_withdrawn_before_delivery(world: World) -> None:
    audit = world.answer(world.auditing(), *[PASS] * 6)
    finding = audit.findings.get(check_name="stable")
    overrides.propose(finding=finding, outcome=FAIL, reason="Hm.", by=world.consultant)
    with declined("audit.override_open"):
        audits.deliver(audit=audit, by=world.admin)
    overrides.withdraw(finding=finding, by=world.consultant)
    assert audits.deliver(audit=audit, by=world.admin).outcome == "custom"


def test_a_library_that_fits_excludes_custom_work(world: World) -> None:
    audit = world.answer(world.auditing(), PASS, FAIL, PASS, PASS, PASS, PASS)
    assert audits.deliver(audit=audit, by=world.consultant).outcome == "redirect"


def test_a_new_finding_clears_the_override_of_the_old_one(world: World) -> None:
    audit = world.auditing()
    finding = record(world, audit, outcome=FAIL, value="3%")
    world.override(audit, "hot", PASS)
    finding = record(world, audit, outcome=FAIL, value="2%")
    assert finding.effective_outcome == FAIL
    event = audit.engagement.events.filter(verb="audit.finding_recorded").first()
    assert event is not None
    assert event.changes["override_outcome"] == [PASS, ""]


def test_an_override_needs_a_finding_a_reason_and_a_difference(world: World) -> None:
    audit = world.auditing()
    untouched = audit.findings.get(check_name="hot")
    with declined("audit.finding_missing"):
        overrides.propose(finding=untouched, outcome=PASS, reason="Hm.", by=world.consultant)
    finding = record(world, audit)
    with declined("validation.missing"):
        overrides.propose(finding=finding, outcome=FAIL, reason=" ", by=world.consultant)
    with declined("audit.same_outcome"):
        overrides.propose(finding=finding, outcome=PASS, reason="Hm.", by=world.consultant)
    with declined("audit.outcome_unknown"):
        overrides.propose(finding=finding, outcome="so", reason="Hm.", by=world.consultant)


def test_overriding_twice_alike_changes_nothing(world: World) -> None:
    finding = record(world, world.auditing())
    for _ in range(2):
        overrides.propose(finding=finding, outcome=FAIL, reason="No.", by=world.consultant)
    events = finding.audit.engagement.events.filter(verb="audit.finding_override_proposed")
    assert events.count() == 1


@pytest.mark.parametrize(
    ("passes", "outcome", "stage"),
    [
        (6, "custom", Stage.AUDITED),
        (4, "custom", Stage.AUDITED),
        (3, "redirect", Stage.REDIRECTED),
        (2, "redirect", Stage.REDIRECTED),
        (1, "decline", Stage.DECLINED),
        (0, "decline", Stage.DECLINED),
    ],
)
def test_the_number_of_passes_decides_the_outcome(
    world: World, passes: int, outcome: str, stage: Stage
) -> None:
    answers = [PASS] * passes + [UNKNOWN] * (6 - passes)
    audit = world.answer(world.auditing(), *answers)
    audit = audits.deliver(audit=audit, by=world.consultant)
    assert audit.outcome == outcome
    assert fresh(audit.engagement).stage == stage


def test_overrides_count_when_the_outcome_is_computed(world: World) -> None:
    audit = world.answer(world.auditing(), PASS, PASS, PASS, UNKNOWN, FAIL, FAIL)
    world.override(audit, "survives", PASS)
    assert audits.deliver(audit=audit, by=world.consultant).outcome == "custom"


def test_an_audit_is_not_delivered_with_a_check_unanswered(world: World) -> None:
    audit = world.auditing()
    record(world, audit)
    with declined("audit.findings_missing"):
        audits.deliver(audit=audit, by=world.consultant)


def test_delivering_twice_changes_nothing(
    world: World,
    documents_wanted: list[object],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    audit = world.answer(world.auditing(), *[PASS] * 6)
    with django_capture_on_commit_callbacks(execute=True):
        first = audits.deliver(audit=audit, by=world.consultant)
        second = audits.deliver(audit=audit, by=world.consultant)
    assert first.delivered_at == second.delivered_at
    assert documents_wanted == [("audit_report", f"audit:{audit.pk}")]


def test_nothing_changes_in_a_delivered_audit(world: World) -> None:
    engagement = world.audited()
    finding = engagement.audit.findings.all()[0]
    with declined("engagement.wrong_stage"):
        record(world, engagement.audit)
    with declined("engagement.wrong_stage"):
        overrides.propose(finding=finding, outcome=FAIL, reason="No.", by=world.consultant)


@pytest.mark.parametrize("who", ["finance", "signatory"])
def test_only_consultants_audit(world: World, who: str) -> None:
    by = getattr(world, who)
    audit = world.auditing()
    finding = record(world, audit)
    with declined("access.consultants_only"):
        audits.start(engagement=world.scoping(), cost=Decimal(1), currency="EUR", by=by)
    with declined("access.consultants_only"):
        record(world, audit, by=by)
    with declined("access.consultants_only"):
        overrides.propose(finding=finding, outcome=FAIL, reason="No.", by=by)
    with declined("access.consultants_only"):
        audits.deliver(audit=audit, by=by)
