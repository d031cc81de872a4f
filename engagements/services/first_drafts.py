"""The first draft of a contract, from what a passing audit found. A person revises it."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.errors import Refused as BenchmarkRefused
from benchmarks.services import benchmarks
from engagements.audit import Advice, Check
from engagements.audit.agreed import NoBenchmark, document
from engagements.audit.case import Work
from engagements.errors import Refused
from engagements.models import Audit, ContractVersion, Engagement, ReleaseCondition, Stage, User
from engagements.models.contract import MAX_WEEKS, MIN_WEEKS
from engagements.services import contracts, lifecycle
from engagements.services.cases import case_of, subject_of
from engagements.services.checks import verdict_of
from engagements.services.contracts import MilestoneDraft

NOTICE = timedelta(days=7)
# What is left of the fee beside the audit, in percent.
PARTS = (
    ("Contract signed", ReleaseCondition.SIGNED, Decimal(35)),
    ("Target met on the agreed benchmark", ReleaseCondition.TARGET_MET, Decimal(45)),
    ("Handover accepted", ReleaseCondition.HANDOVER, Decimal(20)),
)


@transaction.atomic
def from_audit(*, engagement: Engagement, by: User) -> ContractVersion:
    """Draft the contract of an audit that passed: its shapes, the closest baseline, its target.

    Weeks and fee are those that the audit's payback was computed with. Refused with what is
    missing.
    """
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    audit = Audit.objects.get(engagement=row)
    audit.engagement = row
    work, fee = _work(audit)
    try:
        benchmark = benchmarks.seal(document=_document(audit))
    except BenchmarkRefused as refused:
        raise Refused(str(refused)) from refused
    return contracts.draft(
        engagement=row,
        benchmark=benchmark,
        fee=fee,
        audit_cost=audit.cost,
        currency=audit.currency,
        tax_rate_percent=Decimal(0),
        weeks=_time_box(work.whole_weeks),
        starts_on=_monday(timezone.localdate() + NOTICE),
        target=Decimal(str(benchmark.document["target"])),
        inconclusive=ContractVersion.Inconclusive.MISSED,
        milestones=_milestones(audit),
        by=by,
    )


def hindrance(audit: Audit) -> str | None:
    """Why no contract can be drafted from this audit, in one sentence; None when one can."""
    try:
        _work(audit)
        _document(audit)
    except Refused as refused:
        return str(refused)
    return None


def _document(audit: Audit) -> dict[str, Any]:
    verdict = verdict_of(audit)
    if verdict is None:
        raise Refused("Nothing was computed in this audit: draft the contract by hand.")
    if audit.outcome != Advice.CUSTOM:
        raise Refused("The audit does not speak for custom work.")
    closest = next(found for found in verdict.findings if found.check == Check.OFF_THE_SHELF)
    try:
        return document(case_of(audit), closest, reference=audit.engagement.reference)
    except NoBenchmark as error:
        raise Refused(str(error)) from error


def _work(audit: Audit) -> tuple[Work, Decimal]:
    work = subject_of(audit).work
    if work is None or work.fee is None:
        raise Refused("The audit does not say what the work takes: its weeks and its fee.")
    if work.currency != audit.currency:
        raise Refused(f"The fee is in {work.currency}, the audit in {audit.currency}.")
    return work, work.fee


def _time_box(weeks: int) -> int:
    """Weeks inside the limits of a time-box; a person sees and changes them."""
    return min(MAX_WEEKS, max(MIN_WEEKS, weeks))


def _monday(day: date) -> date:
    """The first Monday on or after `day`."""
    return day + timedelta(days=-day.weekday() % 7)


def _milestones(audit: Audit) -> list[MilestoneDraft]:
    drafts = [
        MilestoneDraft(title=title, amount=None, condition=condition, share=share)
        for title, condition, share in PARTS
    ]
    if audit.cost > 0:
        delivered = MilestoneDraft(
            title="Audit delivered",
            amount=audit.cost,
            condition=ReleaseCondition.AUDIT_DELIVERED,
        )
        drafts.insert(1, delivered)
    return drafts
