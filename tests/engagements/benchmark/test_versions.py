"""A customer's own benchmark: versions, checks, approvals, and the seal."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from benchmarks.models import Benchmark
from benchmarks.records.canonical import canonical
from benchmarks.services import benchmarks, checks
from engagements.benchmark import services as benchmark
from engagements.benchmark.models import BenchmarkApproval, BenchmarkVersion, SealedVersion
from engagements.benchmark.queries import benchmarks_for
from engagements.common.errors import ApplicationError
from engagements.contracts import services as contracts
from engagements.runs import services as runs
from tests.engagements.benchmark.folders import claimed, passed, starter, uploaded
from tests.engagements.world import World


def _code(raised: pytest.ExceptionInfo[ApplicationError]) -> str:
    return raised.value.code


def _sealed(world: World, engagement: Any) -> Benchmark:
    version = uploaded(engagement, world.signatory)
    digest = passed(version)
    for by in (world.signatory, world.consultant):
        benchmark.approve(version=version, digest=digest, by=by)
    return version.seals.get().benchmark


def test_versions_are_numbered_kept_once_and_never_changed(world: World) -> None:
    engagement = world.scoping()
    first = uploaded(engagement, world.signatory)
    assert uploaded(engagement, world.consultant) == first
    second = uploaded(engagement, world.consultant, starter("elementwise"))
    assert (first.number, second.number) == (1, 2)
    assert benchmark.files_of(first) == starter()
    assert first.checks.get().check_job.state == "queued"
    with pytest.raises(IntegrityError), transaction.atomic():
        BenchmarkVersion.objects.filter(pk=first.pk).update(title="Other")


@pytest.mark.parametrize("who", ["viewer", "stranger", "finance"])
def test_others_upload_and_approve_nothing(world: World, who: str) -> None:
    engagement = world.scoping()
    version = uploaded(engagement, world.signatory)
    digest = passed(version)
    other = getattr(world, who)
    for act in (
        lambda: uploaded(engagement, other, starter("elementwise")),
        lambda: benchmark.approve(version=version, digest=digest, by=other),
        lambda: benchmark.cancel(version=version, by=other),
    ):
        with pytest.raises(ApplicationError) as raised:
            act()
        assert _code(raised) == "access.signatories_only"


def test_both_sides_approve_what_was_checked_and_that_seals_it(world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    with pytest.raises(ApplicationError) as raised:
        benchmark.approve(version=version, digest="sha256:" + "0" * 64, by=world.signatory)
    assert _code(raised) == "benchmark.not_checked"
    digest = passed(version)
    for _ in range(2):
        benchmark.approve(version=version, digest=digest, by=world.signatory)
        assert not version.seals.exists()
    benchmark.approve(version=version, digest=digest, by=world.consultant)
    assert version.seals.get().benchmark.digest == digest
    verbs = list(version.engagement.events.values_list("verb", flat=True))
    assert verbs.count("benchmark.approved") == 2
    assert verbs.count("benchmark.sealed") == 1


def test_an_uncalibrated_benchmark_is_not_approved_where_calibration_is_required(
    world: World, settings: Any
) -> None:
    settings.TWOFOLD_REQUIRED_CALIBRATION = True
    version = uploaded(world.scoping(), world.signatory)
    with pytest.raises(ApplicationError) as raised:
        benchmark.approve(version=version, digest=passed(version), by=world.signatory)
    assert _code(raised) == "benchmark.not_calibrated"


def test_the_database_refuses_unchecked_approvals_and_unapproved_seals(world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    with pytest.raises(IntegrityError) as raised, transaction.atomic():
        BenchmarkApproval.objects.create(
            version=version, side="customer", user=world.signatory, digest="sha256:" + "0" * 64
        )
    assert "benchmark.not_checked" in str(raised.value.__cause__.diag.constraint_name)  # type: ignore[union-attr]
    digest = passed(version)
    sealed = benchmarks.seal(document=version.checks.get().check_job.benchmark)
    benchmark.approve(version=version, digest=digest, by=world.signatory)
    with pytest.raises(IntegrityError), transaction.atomic():
        SealedVersion.objects.create(version=version, benchmark=sealed)


def test_a_check_is_cancelled_and_repeated(world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    job = claimed(version)
    key = uuid.uuid4()
    with pytest.raises(ApplicationError) as raised:
        benchmark.check(version=version, by=world.consultant, request_key=key)
    assert _code(raised) == "benchmark.check_in_progress"
    benchmark.cancel(version=version, by=world.signatory)
    benchmark.cancel(version=version, by=world.signatory)
    job.refresh_from_db()
    assert (job.state, job.passed) == ("failed", False)
    assert not checks.fail(check_id=job.pk, attempt=job.attempt, reason="Too late.")
    again = benchmark.check(version=version, by=world.consultant, request_key=key)
    assert benchmark.check(version=version, by=world.consultant, request_key=key) == again


def test_a_check_that_returns_other_files_fails(world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    job = claimed(version)
    other = uploaded(world.scoping(), world.signatory, starter("elementwise"))
    document = other.checks.get().check_job.benchmark
    with pytest.raises(Exception, match="other files"):
        checks.finish(check_id=job.pk, attempt=job.attempt, results=[], checked=canonical(document))
    job.refresh_from_db()
    assert (job.state, job.passed) == ("failed", False)


def test_only_the_customer_who_brought_a_benchmark_uses_it(world: World) -> None:
    own = _sealed(world, world.scoping())
    elsewhere = world.audited(engagement=world.scoping(customer=world.other_customer))
    mine = world.audited()
    assert own in benchmarks_for(mine)
    assert own not in benchmarks_for(elsewhere)
    assert world.benchmark in benchmarks_for(elsewhere)
    assert contracts.draft(engagement=mine, **world.terms(benchmark=own)).benchmark == own
    with pytest.raises(ApplicationError) as raised:
        contracts.draft(engagement=elsewhere, **world.terms(benchmark=own))
    assert _code(raised) == "benchmark.other_customer"
    with pytest.raises(ApplicationError) as raised:
        runs.request(
            engagement=elsewhere,
            solution=world.solution,
            purpose="trial",
            request_key=uuid.uuid4(),
            by=world.consultant,
            benchmark=own,
        )
    assert _code(raised) == "benchmark.other_customer"


def test_comments_name_a_line_that_exists(world: World) -> None:
    version = uploaded(world.scoping(), world.signatory)
    said = benchmark.comment(
        version=version, text="Why?", by=world.viewer, path="program.py", line=3
    )
    assert said.side == "customer"
    for place, code in (
        ({"path": "other.py"}, "benchmark.no_file"),
        ({"path": "program.py", "line": 10_000}, "benchmark.no_line"),
    ):
        with pytest.raises(ApplicationError) as raised:
            benchmark.comment(version=version, text="Why?", by=world.consultant, **place)
        assert _code(raised) == code
