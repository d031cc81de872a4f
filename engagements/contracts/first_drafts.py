"""Draft a contract from a passing audit. A person revises it."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from benchmarks.errors import BenchmarkError
from benchmarks.services import benchmarks
from engagements import access
from engagements.audit.contract_basis import benchmark_document, work_of
from engagements.audit.models import Audit
from engagements.common.errors import ApplicationError
from engagements.contracts import services as contracts
from engagements.contracts import vat
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.fields import NOTICE
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.contracts.models import MAX_WEEKS, MIN_WEEKS, ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.people.models import User

# Shares of the fee less the audit, in percent.
PARTS = (
    ("Contract signed", ReleaseCondition.SIGNED, Decimal(35)),
    ("Target met on the agreed benchmark", ReleaseCondition.TARGET_MET, Decimal(45)),
    ("Handover accepted", ReleaseCondition.HANDOVER, Decimal(20)),
)


@transaction.atomic
def from_audit(*, engagement: Engagement, by: User) -> ContractVersion:
    """Draft the contract of a passing audit: its shapes, the closest baseline, its target.

    Weeks and fee are those of the audit's payback. Raises ApplicationError naming what is missing.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    audit = Audit.objects.get(engagement=row)
    audit.engagement = row
    work, fee = work_of(audit)
    try:
        benchmark = benchmarks.seal(document=benchmark_document(audit))
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    tax = vat.default_for(row.customer)
    return contracts.draft(
        engagement=row,
        benchmark=benchmark,
        fee=fee,
        audit_cost=audit.cost,
        currency=audit.currency,
        tax_rate_percent=tax.rate,
        tax_treatment=tax.treatment,
        tax_note=tax.note,
        weeks=_time_box(work.whole_weeks),
        starts_on=_monday(timezone.localdate() + NOTICE),
        target=Decimal(str(benchmark.document["target"])),
        inconclusive=ContractVersion.Inconclusive.MISSED,
        milestones=_milestones(audit),
        by=by,
    )


def _time_box(weeks: int) -> int:
    """Weeks inside the limits of a time-box; a person may change them."""
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
