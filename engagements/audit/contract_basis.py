"""The basis of a contract: the audit's benchmark, and its estimate of the work."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from engagements.audit.audit_inputs import inputs_of, subject_of
from engagements.audit.findings import verdict_of
from engagements.audit.models import Audit
from engagements.audit.rules import Advice, off_the_shelf
from engagements.audit.rules.agreed import document
from engagements.audit.rules.inputs import Work
from engagements.audit.rules.off_the_shelf import Candidate
from engagements.common.errors import ApplicationError


def blocking_reason(audit: Audit) -> str | None:
    """Return the reason why no contract can be drafted from this audit; None if it can."""
    try:
        work_of(audit)
        benchmark_document(audit)
    except ApplicationError as error:
        return str(error)
    return None


def benchmark_document(audit: Audit) -> dict[str, Any]:
    """Return the benchmark document of the audit's shapes and closest library.

    Raises ApplicationError where an input is missing.
    """
    verdict = verdict_of(audit)
    if verdict is None:
        raise ApplicationError(
            "This audit has no computed findings: draft the contract by hand.",
            code="audit.not_computed",
        )
    if audit.outcome != Advice.CUSTOM:
        raise ApplicationError(
            "The audit advises against custom work.", code="audit.advises_against"
        )
    closest = next(found for found in verdict.findings if found.check == off_the_shelf.NAME)
    return document(inputs_of(audit), closest, reference=audit.engagement.reference)


def work_of(audit: Audit) -> tuple[Work, Decimal]:
    """Return the planned work and its fee. Raises ApplicationError where either is missing."""
    work = subject_of(audit).work
    if work is None or work.fee is None:
        raise ApplicationError(
            "Enter the weeks of work and the fee on the workbench.",
            code="audit.work_missing",
        )
    if work.currency != audit.currency:
        raise ApplicationError(
            f"The fee is in {work.currency}, the audit in {audit.currency}.",
            code="audit.currency_mismatch",
        )
    return work, work.fee


def fitting_libraries(audit: Audit) -> tuple[Candidate, ...]:
    """Return the libraries that the computed check 2 found to fit; none for an audit by hand.

    An override of the check does not change what was found.
    """
    verdict = verdict_of(audit)
    found = verdict.findings if verdict is not None else ()
    figures = next((each.figures for each in found if each.check == off_the_shelf.NAME), None)
    if not isinstance(figures, off_the_shelf.CoverageFigures):
        return ()
    return tuple(each for each in figures.candidates if each.verdict == "fits")
