"""What a contract is drafted from: an audit that passed, its benchmark and its work."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from engagements.audit.findings import verdict_of
from engagements.audit.inputs import case_of, subject_of
from engagements.audit.models import Audit
from engagements.audit.rules import Advice, Check
from engagements.audit.rules.agreed import NoBenchmark, document
from engagements.audit.rules.case import Work
from engagements.common.errors import ApplicationError


def blocking_reason(audit: Audit) -> str | None:
    """Say why no contract can be drafted from this audit; None when one can."""
    try:
        work_of(audit)
        benchmark_document(audit)
    except ApplicationError as refused:
        return str(refused)
    return None


def benchmark_document(audit: Audit) -> dict[str, Any]:
    """Return the benchmark document that the audit's shapes and closest library lead to.

    Raises Refused with what is missing.
    """
    verdict = verdict_of(audit)
    if verdict is None:
        raise ApplicationError(
            "Nothing was computed in this audit: draft the contract by hand.", code="audit.todo"
        )
    if audit.outcome != Advice.CUSTOM:
        raise ApplicationError("The audit does not speak for custom work.", code="audit.todo")
    closest = next(found for found in verdict.findings if found.check == Check.OFF_THE_SHELF)
    try:
        return document(case_of(audit), closest, reference=audit.engagement.reference)
    except NoBenchmark as error:
        raise ApplicationError(str(error), code="audit.todo") from error


def work_of(audit: Audit) -> tuple[Work, Decimal]:
    """Return the planned work and its fee. Raises Refused where the audit does not say them."""
    work = subject_of(audit).work
    if work is None or work.fee is None:
        raise ApplicationError(
            "The audit does not say what the work takes: its weeks and its fee.", code="audit.todo"
        )
    if work.currency != audit.currency:
        raise ApplicationError(
            f"The fee is in {work.currency}, the audit in {audit.currency}.", code="audit.todo"
        )
    return work, work.fee
