"""Labels and explanations of the portal."""

from __future__ import annotations

from engagements.audit.models import Audit, Check, FindingOutcome
from engagements.engagement.models import Stage

# What each check asks, for readers who run models and write no kernels.
CHECK_MEANING: dict[str, str] = {
    Check.HOT: (
        "Only an operator with a large share of the time is worth optimising. Below 5%, the gain "
        "is not noticeable."
    ),
    Check.OFF_THE_SHELF: (
        "Libraries cover more than most people expect. Custom work is for what they lack."
    ),
    Check.STABLE: (
        "A kernel is tuned for certain shapes. If shapes vary without a pattern, the gain is lost "
        "in the tail."
    ),
    Check.SURVIVES: ("Models change. A kernel that the next model cannot use loses its value."),
    Check.MAINTAIN: (
        "New hardware and library versions require changes to the kernel. Someone must be able to "
        "make them."
    ),
    Check.WORTH: (
        "The gain counts for the whole step, not for the kernel alone. We look for 2× or more."
    ),
}

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
