"""Labels and explanations of the portal."""

from __future__ import annotations

from engagements.audit.models import Audit, FindingOutcome
from engagements.engagement.models import Stage

FINDING_LABELS: dict[str, str] = {
    FindingOutcome.PASS: "Pass",
    FindingOutcome.FAIL: "Fail",
    FindingOutcome.UNKNOWN: "Unknown",
}

OUTCOME_SENTENCE: dict[str, str] = {
    Audit.Outcome.CUSTOM: "Custom kernel work may be right for you.",
    Audit.Outcome.REDIRECT: (
        "Cheaper alternatives exist. We recommend them before any custom kernel."
    ),
    Audit.Outcome.DECLINE: "We advise against custom kernel work here.",
}

STAGE_LABELS: dict[str, str] = {
    Stage.SCOPING: "Scoping",
    Stage.AUDITING: "Audit in progress",
    Stage.AUDITED: "Audit delivered",
    Stage.OFFERED: "Contract offered",
    Stage.ACTIVE: "In progress",
    Stage.MET: "Target met",
    Stage.MISSED: "Target missed",
    Stage.TERMINATED: "Terminated",
    Stage.CLOSED: "Closed",
    Stage.REDIRECTED: "Redirected",
    Stage.DECLINED: "Declined",
    Stage.CANCELLED: "Cancelled",
}


def joined(names: list[str]) -> str:
    """Join names as A, B or C."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"
