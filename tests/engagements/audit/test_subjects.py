"""What an audit is about: the operator, its needs, the work, what was tried and measured."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from engagements import tasks
from engagements.audit import rules as checks
from engagements.audit import subjects
from engagements.audit.models import Audit
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from tests.engagements.audit.inputs import LLAMA_32K, ratio
from tests.engagements.audit.test_findings import finding, keep, overlapping
from tests.engagements.world import World, measured
from tests.errors import declined


@pytest.fixture
def audit(world: World) -> Audit:
    return world.auditing()


def test_an_operator_chosen_while_another_was_summed_stays(
    world: World, audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(world, audit.engagement, "overlapping.json", overlapping())
    mine = checks.Operator(kind="pattern", name="mine", pattern="^mine_")
    other = checks.Operator(kind="pattern", name="other", pattern="mine_a")
    subjects.choose_operator(audit=audit, operator=mine, by=world.consultant)
    read_with = subjects.read_with

    def meanwhile(**asked: Any) -> Any:
        subjects.choose_operator(audit=audit, operator=other, by=world.consultant)
        return read_with(**asked)

    monkeypatch.setattr(subjects, "read_with", meanwhile)
    assert subjects.sum_exactly(audit=Audit.objects.get(pk=audit.pk)) is False
    assert finding(audit, "hot").value == "30%"


def test_an_invalid_or_costly_pattern_is_declined(world: World, audit: Audit) -> None:
    for pattern, code in (
        ("(", "malformed"),
        ("", "missing"),
        ("a" * 201, "too_long"),
        ("(a{900}){900}", "too_costly"),
    ):
        broken = checks.Operator(kind="pattern", name="x", pattern=pattern)
        with declined(f"pattern.{code}"):
            subjects.choose_operator(audit=audit, operator=broken, by=world.consultant)


@pytest.mark.parametrize(
    "changes", [{"least_share": 1.5}, {"vibes": 1}, {"target": 1}, {"least_calls": "many"}]
)
def test_invalid_thresholds_are_declined(
    world: World, audit: Audit, changes: dict[str, object]
) -> None:
    with declined("audit.threshold_invalid"):
        subjects.set_thresholds(audit=audit, changes=changes, by=world.consultant)


def test_the_subject_gives_needs_work_and_what_was_tried(world: World, audit: Audit) -> None:
    by = world.consultant
    subjects.set_needs(audit=audit, needs=LLAMA_32K, by=by)
    work = checks.Work(weeks=6, fee=Decimal("60000.00"), currency="EUR")
    subjects.set_work(audit=audit, work=work, by=by)
    for library in ("FlashInfer", "vLLM paged attention"):
        tried = checks.Tried(library=library, lacks=("the runtime",))
        subjects.record_tried(audit=audit, tried=tried, by=by)
    subjects.record_tried(audit=audit, tried=checks.Tried(library="Other", lacks=("it",)), by=by)
    verdict = subjects.forget_tried(audit=audit, library="Other", by=by)
    assert verdict.findings[1].outcome == "pass"
    assert finding(audit, "off_the_shelf").value == "FlashInfer: the runtime"
    verdict = subjects.set_estimates(audit=audit, by=by, end_to_end=ratio(2.5))
    assert verdict.findings[5].outcome == "pass"


def tried_out(world: World, audit: Audit, verdict: str) -> EngagementRun:
    """A trial run of the engagement that came to `verdict`."""
    asked = runs.request(
        engagement=audit.engagement,
        solution=world.solution,
        purpose="trial",
        request_key=uuid4(),
        benchmark=world.benchmark,
        by=world.consultant,
    )
    measured(asked, verdict)
    return asked


def test_a_trial_run_says_what_the_kernel_gains(world: World, audit: Audit) -> None:
    by = world.consultant
    subjects.set_needs(audit=audit, needs=LLAMA_32K, by=by)
    subjects.set_estimates(audit=audit, by=by, end_to_end=ratio(9.0))
    asked = tried_out(world, audit, "met")
    assert tasks.compute_findings(audit.engagement_id) is True
    worth = finding(audit, "worth").computed_finding
    assert worth is not None
    assert (worth.outcome, worth.value) == ("pass", pytest.approx(2.3))
    assert worth.evidence[0].kind == "run"
    assert worth.evidence[0].digest == asked.run.record.digest
    assert tasks.compute_findings(audit.engagement_id) is False


def test_a_run_that_was_disqualified_says_nothing(world: World, audit: Audit) -> None:
    by = world.consultant
    subjects.set_needs(audit=audit, needs=LLAMA_32K, by=by)
    tried_out(world, audit, "disqualified")
    assert tasks.compute_findings(audit.engagement_id) is False
    assert finding(audit, "worth").outcome == "unknown"


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (checks.Work(weeks=0), "audit.weeks_out_of_range"),
        (checks.Work(weeks=6, fee=Decimal(1)), "audit.fee_without_currency"),
        (checks.Work(weeks=6, fee=Decimal("0.001"), currency="EUR"), "amount.too_precise"),
    ],
)
def test_invalid_work_is_declined(world: World, audit: Audit, work: checks.Work, code: str) -> None:
    with declined(code):
        subjects.set_work(audit=audit, work=work, by=world.consultant)
